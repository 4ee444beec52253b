// SPDX-License-Identifier: MIT
//! The allocator serves this program.
use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;

#[global_allocator]
static GLOBAL: pktmalloc::PktMalloc = pktmalloc::PktMalloc;

// Tests run beside each other, so counts may only be larger.
#[test]
fn boxes_are_counted() {
    let before = pktmalloc::statistics();
    let boxes: Vec<Box<[u8; 1500]>> = (0..1000).map(|_| Box::new([1; 1500])).collect();
    let after = pktmalloc::statistics();
    assert!(after.allocs >= before.allocs + 1000);
    assert!(after.allocated_bytes >= 1_500_000);
    assert_eq!(boxes.iter().map(|b| b[7] as usize).sum::<usize>(), 1000);
}

#[test]
fn every_alignment_and_size_keeps_its_bytes() {
    for alignment in (0..18).map(|shift| 1 << shift) {
        for bytes in [1, 15, 16, 17, 64, 1500, 4096, 300_000] {
            unsafe {
                let layout = Layout::from_size_align(bytes, alignment).unwrap();
                let zeroed = alloc_zeroed(layout);
                assert_eq!(zeroed as usize % alignment, 0);
                assert!((0..bytes).all(|i| *zeroed.add(i) == 0));
                dealloc(zeroed, layout);
                let object = alloc(layout);
                assert_eq!(object as usize % alignment, 0);
                object.write_bytes(0xA5, bytes);
                let larger = realloc(object, layout, 3 * bytes);
                assert_eq!(larger as usize % alignment, 0);
                assert!((0..bytes).all(|i| *larger.add(i) == 0xA5));
                dealloc(
                    larger,
                    Layout::from_size_align(3 * bytes, alignment).unwrap(),
                );
            }
        }
    }
}

#[test]
fn a_size_that_cannot_be_had_is_null() {
    let layout = Layout::from_size_align(isize::MAX as usize - 64, 16).unwrap();
    assert!(std::hint::black_box(unsafe { alloc(layout) }).is_null());
}

#[test]
fn threads_exchange_buffers() {
    let (send, receive) = mpsc::channel::<Vec<u8>>();
    let sender =
        thread::spawn(move || (0..50_000).for_each(|i| send.send(vec![i as u8; 1500]).unwrap()));
    let sum: usize = receive.iter().map(|buffer| usize::from(buffer[1499])).sum();
    sender.join().unwrap();
    assert_eq!(sum, (0..50_000).map(|i| i & 0xFF).sum());
}

#[test]
fn a_map_comes_and_goes_and_its_memory_is_given_back() {
    let mut map = BTreeMap::new();
    for i in 0..100_000u32 {
        map.insert(i.wrapping_mul(2_654_435_761), [i; 30]);
    }
    drop(map);
    assert!(pktmalloc::trim() > 0);
}

#[test]
fn the_version_is_that_of_the_crate() {
    assert_eq!(pktmalloc::version(), env!("CARGO_PKG_VERSION"));
}
