// SPDX-License-Identifier: MIT
package pktmalloc;

import io.netty.util.Recycler;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The cost of a pair of get and recycle, in ns, by JMH; `-t THREADS` sets the threads.
 *
 * <p>JMH's threads are not Netty's own kind; the property gives them the same fast path.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(value = 1, jvmArgsAppend = "-Dio.netty.recycler.batchFastThreadLocalOnly=false")
public class RecyclerBenchmark {
  private final Recycler<Message> pool = Message.pool(100_000);

  @Benchmark
  public Object getAndRecycle() {
    Message object = pool.get();
    object.recycle();
    return object;
  }
}
