// SPDX-License-Identifier: MIT
//! benchmark ROUNDS: three workloads under the allocator that this was built for. A line each, with
//! the processor time of every round in ms, and at the end the most memory, in MiB.
use std::collections::BTreeMap;
use std::{env, fs, thread};

#[cfg(feature = "pktmalloc")]
#[global_allocator]
static GLOBAL: pktmalloc::PktMalloc = pktmalloc::PktMalloc;
#[cfg(feature = "mimalloc")]
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;
#[cfg(feature = "jemalloc")]
#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
#[cfg(feature = "snmalloc")]
#[global_allocator]
static GLOBAL: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;
#[cfg(feature = "rpmalloc")]
#[global_allocator]
static GLOBAL: rpmalloc::RpMalloc = rpmalloc::RpMalloc;

/// A document of 20,000 records is read into values, changed, and written.
fn json() -> usize {
    let mut text = String::from("[");
    for i in 0..20_000 {
        text += &format!(
            r#"{}{{"id":{i},"name":"record {i}","tags":["a","bb{}","ccc"],"at":{{"x":{}.5,"y":null}}}}"#,
            if i == 0 { "" } else { "," },
            i % 97,
            i % 1000
        );
    }
    text.push(']');
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    for record in document.as_array_mut().unwrap() {
        record["seen"] = true.into();
    }
    document.to_string().len()
}

/// 100,000 nodes with strings live, each step removes one and inserts another.
fn tree() -> usize {
    let mut map = BTreeMap::new();
    let mut random = 1u64;
    let mut next = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    for _ in 0..100_000 {
        map.insert(next(), Box::new([0u8; 48]));
    }
    for _ in 0..400_000 {
        let key = next();
        if let Some(found) = map.range(key..).next().map(|(k, _)| *k) {
            map.remove(&found);
        }
        map.insert(key, Box::new([0; 48]));
    }
    map.len()
}

/// Buffers of 1.5 KB go from one thread to another, 64 on their way.
fn channel() -> usize {
    let (send, receive) = crossbeam_channel::bounded::<Vec<u8>>(64);
    let sender = thread::spawn(move || {
        for i in 0..500_000 {
            let mut buffer = Vec::with_capacity(1500);
            buffer.resize(64, i as u8);
            send.send(buffer).unwrap();
        }
    });
    let sum = receive.iter().map(|buffer| usize::from(buffer[63])).sum();
    sender.join().unwrap();
    sum
}

extern "C" {
    fn clock() -> i64; // of all threads, in us
}

fn processor_ms() -> f64 {
    unsafe { clock() as f64 / 1e3 }
}

fn main() {
    let rounds: usize = env::args()
        .nth(1)
        .map_or(3, |text| text.parse().expect("a number of rounds"));
    for (name, play) in [
        ("json", json as fn() -> usize),
        ("tree", tree),
        ("channel", channel),
    ] {
        print!("{name}");
        for _ in 0..rounds {
            let before = processor_ms();
            std::hint::black_box(play());
            print!(" {:.2}", processor_ms() - before);
        }
        println!();
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let kib: f64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    println!("peak {:.1}", kib / 1024.0);
}
