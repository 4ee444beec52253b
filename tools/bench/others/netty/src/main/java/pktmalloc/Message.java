// SPDX-License-Identifier: MIT
package pktmalloc;

import io.netty.util.Recycler;
import java.util.concurrent.atomic.LongAdder;

/** A pooled object with 64 bytes of payload. */
final class Message {
  /** How many were made because the pool had none. */
  static final LongAdder made = new LongAdder();

  private final Recycler.Handle<Message> handle;
  long word0, word1, word2, word3, word4, word5, word6, word7;

  private Message(Recycler.Handle<Message> handle) {
    this.handle = handle;
  }

  void recycle() {
    handle.recycle(this);
  }

  /**
   * A pool that keeps all of `count` objects of a thread. By itself Netty keeps at most 4096
   * (io.netty.recycler.maxCapacityPerThread) and pools only every eighth new object
   * (io.netty.recycler.ratio), so that most of this exchange would be the garbage collector's.
   */
  static Recycler<Message> pool(int count) {
    int maxCapacityPerThread = Math.max(4096, count);
    int ratio = 0;
    int chunkSize = 32; // Netty's default
    return new Recycler<Message>(maxCapacityPerThread, ratio, chunkSize) {
      @Override
      protected Message newObject(Handle<Message> handle) {
        made.increment();
        return new Message(handle);
      }
    };
  }
}
