// SPDX-License-Identifier: MIT
//! A global allocator for programs that live on objects of a few fixed sizes: packets, tree nodes,
//! boxes.
//!
//! ```
//! #[global_allocator]
//! static GLOBAL: pktmalloc::PktMalloc = pktmalloc::PktMalloc;
//!
//! fn main() {
//!     let flows: Vec<Box<[u8; 1500]>> = (0..100).map(|_| Box::new([0; 1500])).collect();
//!     let now = pktmalloc::statistics();
//!     assert!(now.allocated_bytes >= 100 * 1500);
//!     drop(flows);
//!     pktmalloc::trim();
//! }
//! ```
//!
//! The program's C and C++ parts are served, too: the library is linked in whole, and its malloc
//! takes the place of libc's. Environment variables that begin with `PKTMALLOC_` set it, as in any
//! program under the library: `PKTMALLOC_STATS=1` prints statistics at the end.
//!
//! Linux with glibc on x86_64 and aarch64. For another target the build ends with one line.
#![no_std]
#![deny(missing_docs)]

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_char, c_int, c_void, CStr};
use core::mem::{size_of, MaybeUninit};

extern "C" {
    fn malloc(bytes: usize) -> *mut c_void;
    fn calloc(count: usize, bytes: usize) -> *mut c_void;
    fn realloc(object: *mut c_void, bytes: usize) -> *mut c_void;
    fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void;
    fn free(object: *mut c_void);
    fn pktmalloc_version() -> *const c_char;
    fn pktmalloc_trim() -> usize;
    fn pktmalloc_reserve(bytes: usize, objects: usize) -> c_int;
    fn pktmalloc_allocate_batch(bytes: usize, count: usize, objects: *mut *mut c_void) -> usize;
    fn pktmalloc_release_batch(objects: *const *mut c_void, count: usize);
    fn pktmalloc_get_statistics(out: *mut c_void, bytes: usize) -> usize;
}

/// The allocator. Stateless: all values are the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PktMalloc;

// What malloc gives for every size.
const ALIGNMENT: usize = 16;

// The release needs no size: free finds the class by one byte that it reads anyway.
unsafe impl GlobalAlloc for PktMalloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            malloc(layout.size()).cast()
        } else {
            aligned_alloc(layout.align(), layout.size()).cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, object: *mut u8, _: Layout) {
        free(object.cast());
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            return calloc(1, layout.size()).cast();
        }
        let object = self.alloc(layout);
        if !object.is_null() {
            object.write_bytes(0, layout.size());
        }
        object
    }

    #[inline]
    unsafe fn realloc(&self, object: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            return realloc(object.cast(), bytes).cast();
        }
        let moved = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
        if !moved.is_null() {
            moved.copy_from_nonoverlapping(object, layout.size().min(bytes));
            self.dealloc(object, layout);
        }
        moved
    }
}

macro_rules! statistics {
    ($($(#[$help:meta])* $name:ident),* $(,)?) => {
        /// Totals of the process; bytes unless the name says otherwise. `docs/statistics.md` of the
        /// library defines them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(C)]
        #[non_exhaustive]
        pub struct Statistics {
            $($(#[$help])* pub $name: u64,)*
        }
    };
}

statistics! {
    /// In objects that the program holds.
    allocated_bytes,
    /// Free, in threads' lists.
    cached_threads_bytes,
    /// Free, waiting for a thread.
    cached_depot_bytes,
    /// Free, in slabs.
    cached_slabs_bytes,
    /// Slabs that classes have.
    active_bytes,
    /// Slabs that no class has.
    free_bytes,
    /// Active and free.
    committed_bytes,
    /// Given back to the system so far.
    purged_bytes,
    /// Bookkeeping.
    metadata_bytes,
    /// Addresses.
    reserved_bytes,
    /// Waiting to go back to the system.
    waiting_bytes,
    /// Requests served so far.
    allocs,
    /// Objects released so far.
    frees,
    /// Requests given to libc's allocator.
    passed,
    /// Threads so far.
    threads_seen,
    /// Threads now.
    threads_alive,
    /// Forks so far.
    forks,
    /// Put in memory in advance.
    populated_bytes,
    /// `PKTMALLOC_LIMIT`; 0: none.
    limit_bytes,
    /// `PKTMALLOC_SOFT_LIMIT`; 0: none.
    soft_limit_bytes,
    /// Counted against them.
    limited_bytes,
    /// Live requests above the largest class.
    block_bytes,
}

/// Exact where no other thread allocates meanwhile.
pub fn statistics() -> Statistics {
    let mut all = Statistics::default();
    unsafe {
        pktmalloc_get_statistics(
            (&mut all as *mut Statistics).cast(),
            size_of::<Statistics>(),
        )
    };
    all
}

/// Gives everything back to the system that is free and not in another thread's lists. Returns the
/// bytes given back.
pub fn trim() -> usize {
    unsafe { pktmalloc_trim() }
}

/// The library's version.
pub fn version() -> &'static str {
    unsafe { CStr::from_ptr(pktmalloc_version()) }
        .to_str()
        .unwrap_or("")
}

/// Puts memory behind so many objects of `bytes` bytes, so that taking them faults no page. The error
/// is that of `pktmalloc_reserve`: EINVAL, ENOMEM or EAGAIN.
///
/// ```
/// assert_eq!(pktmalloc::reserve(1500, 100), Ok(()));
/// assert!(pktmalloc::reserve(1 << 30, 1).is_err()); // larger than any class
/// ```
pub fn reserve(bytes: usize, objects: usize) -> Result<(), i32> {
    match unsafe { pktmalloc_reserve(bytes, objects) } {
        0 => Ok(()),
        error => Err(error),
    }
}

/// Takes an object of `bytes` bytes into each place of `objects`, in one call. Returns those that
/// there are: fewer only where memory is refused.
///
/// ```
/// let mut places = [core::mem::MaybeUninit::uninit(); 32];
/// let burst = pktmalloc::allocate_batch(1500, &mut places);
/// assert_eq!(burst.len(), 32);
/// unsafe { pktmalloc::release_batch(burst) };
/// ```
pub fn allocate_batch(bytes: usize, objects: &mut [MaybeUninit<*mut u8>]) -> &mut [*mut u8] {
    let first = objects.as_mut_ptr().cast::<*mut u8>();
    unsafe {
        let count = pktmalloc_allocate_batch(bytes, objects.len(), first.cast());
        core::slice::from_raw_parts_mut(first, count)
    }
}

/// Frees all of these, in order, in one call.
///
/// # Safety
///
/// Each is null, or was taken from this allocator, by whatever function, and is not used any more.
pub unsafe fn release_batch(objects: &[*mut u8]) {
    pktmalloc_release_batch(objects.as_ptr().cast(), objects.len());
}
