use super::*;

/// A machine in a directory: `/proc` and the groups of one layout.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for (path, content) in files {
            let path = machine.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let root = machine.0.path().display().to_string();
            std::fs::write(path, content.replace("ROOT", &root)).unwrap();
        }
        machine
    }

    fn group(&self) -> Group {
        Group::find(&self.0.path().join("proc"))
    }
}

const MEMINFO: &str = "MemTotal:  1000 kB\nMemAvailable: 400 kB\nAnonPages: 300 kB\nCached: 200 kB\n\
    Shmem: 10 kB\nSlab: 20 kB\n";

#[test]
fn of_version_two_everything_is_in_one_group() {
    let machine = Machine::new(&[
        ("proc/self/mountinfo", "30 25 0:26 / ROOT/cg rw - cgroup2 cgroup2 rw\n"),
        ("proc/self/cgroup", "0::/box/atoll-0123abcd-server\n"),
        ("proc/meminfo", MEMINFO),
        ("cg/box/cpu.stat", "usage_usec 5000\nnr_periods 7\nnr_throttled 3\nthrottled_usec 90\n"),
        ("cg/box/memory.current", "2048\n"),
        ("cg/box/memory.max", "max\n"),
        ("cg/memory.max", "524288\n"),
        ("cg/box/memory.stat", "anon 1\nfile 2\nshmem 3\nslab 4\n"),
        ("cg/box/memory.events", "low 0\noom 6\noom_kill 5\n"),
    ]);
    let group = machine.group();
    assert!(group.counts_below());
    let expected = GroupReading {
        cpu_usage_usec: 5000,
        cpu_periods: Some(7),
        cpu_throttled: Some(3),
        cpu_throttled_usec: Some(90),
        memory_bytes: 2048,
        memory_most_bytes: Some(524_288),
        out_of_memory: Some(6),
        killed: Some(5),
        anonymous_bytes: Some(1),
        file_bytes: Some(2),
        shared_bytes: Some(3),
        slab_bytes: Some(4),
    };
    assert_eq!(group.read(), expected);
}

#[test]
fn of_version_one_each_controller_may_be_elsewhere() {
    let machine = Machine::new(&[
        (
            "proc/self/mountinfo",
            "33 32 0:29 / ROOT/unified rw - cgroup2 cgroup2 rw\n\
             34 32 0:30 / ROOT/memory rw - cgroup cgroup rw,memory\n\
             35 32 0:31 / ROOT/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
        ),
        ("proc/self/cgroup", "4:memory:/jobs/7\n2:cpu,cpuacct:/jobs\n0::/\n"),
        ("proc/meminfo", MEMINFO),
        ("unified/cpu.stat", "usage_usec 1\n"),
        ("cpu,cpuacct/jobs/cpuacct.usage", "7000000\n"),
        ("cpu,cpuacct/jobs/cpu.stat", "nr_periods 2\nnr_throttled 1\nthrottled_time 3000\n"),
        ("memory/jobs/7/memory.usage_in_bytes", "4096\n"),
        ("memory/jobs/7/memory.limit_in_bytes", "9223372036854771712\n"),
        ("memory/jobs/7/memory.stat", "rss 1\ntotal_rss 11\ntotal_cache 12\ntotal_shmem 13\n"),
        ("memory/jobs/7/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
    ]);
    let group = machine.group();
    assert!(!group.counts_below());
    let reading = group.read();
    assert_eq!(reading.cpu_usage_usec, 7000);
    assert_eq!((reading.cpu_throttled, reading.cpu_throttled_usec), (Some(1), Some(3)));
    assert_eq!((reading.memory_bytes, reading.killed), (4096, Some(2)));
    // Nothing is bounded: the machine's memory is the bound.
    assert_eq!(reading.memory_most_bytes, Some(1000 * 1024));
    assert_eq!((reading.anonymous_bytes, reading.file_bytes), (Some(11), Some(12)));
}

#[test]
fn without_groups_the_machine_is_read() {
    let machine = Machine::new(&[
        ("proc/meminfo", MEMINFO),
        ("proc/stat", "cpu  100 0 50 900 30 0 0 0 5 5\ncpu0 1 2 3\n"),
        ("proc/vmstat", "nr_free_pages 1\noom_kill 4\n"),
    ]);
    let reading = machine.group().read();
    assert_eq!(reading.cpu_usage_usec, 150 * 1_000_000 / u64::from(TICKS_PER_SECOND));
    assert_eq!(reading.memory_bytes, 600 * 1024);
    assert_eq!(reading.memory_most_bytes, Some(1000 * 1024));
    assert_eq!((reading.slab_bytes, reading.killed), (Some(20 * 1024), Some(4)));
    assert_eq!((reading.cpu_periods, reading.out_of_memory), (None, None));
}

#[test]
fn a_bare_directory_reads_as_nothing_and_never_fails() {
    let machine = Machine::new(&[("proc/self/mountinfo", "nonsense\n- -\n1 2 3 4 5 - cgroup\n")]);
    assert_eq!(machine.group().read(), GroupReading::default());
}

#[test]
fn this_machine_has_figures() {
    let reading = Group::own().read();
    assert!(reading.cpu_usage_usec > 0 && reading.memory_bytes > 0, "{reading:?}");
    assert!(reading.memory_most_bytes.is_some_and(|most| most >= 16 << 20), "{reading:?}");
}
