// SPDX-License-Identifier: MIT
package pktmalloc;

import io.netty.util.Recycler;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.util.Random;
import java.util.concurrent.CountDownLatch;

/**
 * W4 with Netty's Recycler: the exchange of w4_exchange, objects with 64 bytes of payload.
 *
 * <p>`RecyclerExchange [THREADS [ROUNDS [COUNT]]]`: in every round every thread gets COUNT objects
 * and recycles them in shuffled order, by a permutation prepared beforehand. "ms" is the whole time
 * of all threads, from the common start until the last one is through. Before the start every
 * thread does some rounds that are not timed, so that the code is compiled and, as no other
 * contender but rte_mempool has it, all objects are there. Fails when one had to be made later. The
 * threads are Netty's own kind, which its pool is fastest on.
 */
final class RecyclerExchange {
  private static final int WARM_UP_ROUNDS = 10;
  private static final String USAGE = "usage: RecyclerExchange [THREADS [ROUNDS [COUNT]]]";

  /** What one thread does, prepared before time starts. */
  private static final class Plan {
    final int[] places; // where the i-th object is stored
    final Message[] objects;
    boolean distinct;

    Plan(int count, long seed) {
      places = new int[count];
      objects = new Message[count];
      Random random = new Random(seed);
      for (int i = 0; i < count; ++i) {
        int other = random.nextInt(i + 1);
        places[i] = places[other];
        places[other] = i;
      }
    }

    void exchange(Recycler<Message> pool, int rounds) {
      for (int round = 0; round < rounds; ++round) {
        for (int place : places) objects[place] = pool.get();
        for (Message object : objects) object.recycle();
      }
    }

    /** Whether no two of the objects that are handed out now are the same one. */
    boolean isDistinct(Recycler<Message> pool) {
      for (int i = 0; i < objects.length; ++i) {
        objects[i] = pool.get();
        objects[i].word0 = i;
      }
      boolean all = true;
      for (int i = 0; i < objects.length; ++i) {
        all = all && objects[i].word0 == i;
        objects[i].recycle();
      }
      return all;
    }
  }

  private static int argument(String[] arguments, int index, int defaultValue) {
    if (index >= arguments.length) return defaultValue;
    try {
      int value = Integer.parseInt(arguments[index]);
      if (value > 0) return value;
    } catch (NumberFormatException notANumber) {
      // reported below, as a number that is too small
    }
    System.err.println(USAGE);
    System.exit(2);
    return 0;
  }

  public static void main(String[] arguments) throws InterruptedException {
    int threads = argument(arguments, 0, 1);
    int rounds = argument(arguments, 1, 50);
    int count = argument(arguments, 2, 100_000);

    Recycler<Message> pool = Message.pool(count);
    CountDownLatch warm = new CountDownLatch(threads);
    CountDownLatch start = new CountDownLatch(1);
    CountDownLatch through = new CountDownLatch(threads);
    Plan[] plans = new Plan[threads];
    Thread[] running = new Thread[threads];
    for (int i = 0; i < threads; ++i) {
      Plan plan = plans[i] = new Plan(count, i);
      running[i] =
          new FastThreadLocalThread(
              () -> {
                plan.exchange(pool, WARM_UP_ROUNDS);
                warm.countDown();
                awaitUninterrupted(start);
                plan.exchange(pool, rounds);
                through.countDown();
                plan.distinct = plan.isDistinct(pool);
              });
      running[i].start();
    }

    warm.await();
    long begin = System.nanoTime();
    start.countDown();
    through.await();
    double ms = (System.nanoTime() - begin) / 1e6;

    boolean distinct = true;
    for (int i = 0; i < threads; ++i) {
      running[i].join();
      distinct &= plans[i].distinct;
    }
    if (!distinct || Message.made.sum() != (long) threads * count) {
      System.err.println("RecyclerExchange: an object was handed out twice or not reused");
      System.exit(1);
    }
    System.out.printf(
        "{\"command\": \"%s\", \"ms\": %.3f}%n",
        String.join(" ", "RecyclerExchange", String.join(" ", arguments)).trim(), ms);
  }

  private static void awaitUninterrupted(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException nobodyInterrupts) {
      throw new IllegalStateException(nobodyInterrupts);
    }
  }
}
