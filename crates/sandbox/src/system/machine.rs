//! The machine: operating system, kernel, time zone, rights. Read anew on each call: a few small files.

use std::path::Path;

use crate::environment::Environment;

/// What the machine says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Distribution, `Debian GNU/Linux`.
    pub(crate) os: String,
    /// Its version, `12 (bookworm)`.
    pub(crate) os_version: String,
    /// Kernel, `Linux 6.1.0`.
    pub(crate) kernel: String,
    /// Architecture, `x86_64`.
    pub(crate) arch: String,
    /// Time zone, `Europe/Lisbon`.
    pub(crate) timezone: String,
    /// Whether commands run as root.
    pub(crate) is_root: bool,
    /// Whether packets have somewhere to go beyond this machine.
    pub(crate) has_route: bool,
}

impl Machine {
    /// Reads the machine. Blocks on small files.
    pub(crate) fn read(environment: &Environment) -> Self {
        let uname = rustix::system::uname();
        let kernel_name = uname.sysname().to_string_lossy();
        let kernel_release = uname.release().to_string_lossy();
        let release = read("/etc/os-release").or_else(|| read("/usr/lib/os-release"));
        let release = release.unwrap_or_default();
        let routes = read("/proc/net/route").unwrap_or_default();
        let routes6 = read("/proc/net/ipv6_route").unwrap_or_default();
        Self {
            os: release_field(&release, "NAME").unwrap_or_else(|| kernel_name.to_string()),
            os_version: release_field(&release, "VERSION")
                .or_else(|| release_field(&release, "VERSION_ID"))
                .unwrap_or_else(|| kernel_release.to_string()),
            kernel: format!("{kernel_name} {kernel_release}"),
            arch: uname.machine().to_string_lossy().into_owned(),
            timezone: timezone(environment, Path::new("/etc")),
            is_root: rustix::process::geteuid().is_root(),
            has_route: has_default_route(&routes) || has_default_route6(&routes6),
        }
    }
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// A field of an os-release file (freedesktop: shell-like assignments, values quoted or not).
fn release_field(release: &str, name: &str) -> Option<String> {
    let value = release.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then_some(value.trim())
    })?;
    let value = value.trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

/// The time zone children live in: `TZ`, else the system's, else UTC.
fn timezone(environment: &Environment, etc: &Path) -> String {
    let own = environment.get("TZ").map(|zone| zone.trim_start_matches(':'));
    if let Some(zone) = own.filter(|zone| !zone.is_empty()) {
        return zone.to_owned();
    }
    // The link decides what programs see; the text file is Debian's note of it and may be stale.
    let link = std::fs::read_link(etc.join("localtime")).ok();
    let link = link.as_deref().and_then(Path::to_str);
    if let Some((_, zone)) = link.and_then(|link| link.split_once("zoneinfo/")) {
        return zone.to_owned();
    }
    let note = std::fs::read_to_string(etc.join("timezone")).unwrap_or_default();
    let note = note.trim();
    if note.is_empty() { "UTC" } else { note }.to_owned()
}

/// A route to 0.0.0.0/0 in the kernel's table.
fn has_default_route(routes: &str) -> bool {
    routes.lines().skip(1).any(|line| {
        let columns: Vec<_> = line.split_ascii_whitespace().collect();
        columns.get(1) == Some(&"00000000") && columns.get(7) == Some(&"00000000")
    })
}

/// A route to ::/0 through a real device; the kernel always lists an unreachable one on `lo`.
fn has_default_route6(routes: &str) -> bool {
    routes.lines().any(|line| {
        let columns: Vec<_> = line.split_ascii_whitespace().collect();
        columns.first().is_some_and(|destination| destination.bytes().all(|byte| byte == b'0'))
            && columns.get(1) == Some(&"00")
            && columns.last() != Some(&"lo")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(zone: Option<&str>) -> Environment {
        let server = zone.map(|zone| ("TZ".to_owned(), zone.to_owned()));
        Environment::build(server.into_iter(), Path::new("/h"), Path::new("/h"), "u", &[])
    }

    #[test]
    fn os_release_fields_lose_their_quotes() {
        let release =
            "PRETTY_NAME=\"Some Linux 9\"\nNAME=\"Some Linux\"\nVERSION_ID=9\nEMPTY=\"\"\n";
        assert_eq!(release_field(release, "NAME").as_deref(), Some("Some Linux"));
        assert_eq!(release_field(release, "VERSION_ID").as_deref(), Some("9"));
        assert_eq!(release_field(release, "EMPTY"), None);
        assert_eq!(release_field(release, "VERSION"), None);
    }

    #[test]
    fn the_time_zone_is_the_childrens_then_the_systems_then_utc() {
        let etc = tempfile::tempdir().unwrap();
        assert_eq!(timezone(&environment(None), etc.path()), "UTC");
        std::fs::write(etc.path().join("timezone"), "Asia/Tokyo\n").unwrap();
        assert_eq!(timezone(&environment(None), etc.path()), "Asia/Tokyo");
        let zone = "/usr/share/zoneinfo/Europe/Lisbon";
        std::os::unix::fs::symlink(zone, etc.path().join("localtime")).unwrap();
        assert_eq!(timezone(&environment(None), etc.path()), "Europe/Lisbon");
        assert_eq!(timezone(&environment(Some(":Asia/Seoul")), etc.path()), "Asia/Seoul");
    }

    #[test]
    fn a_default_route_is_told_from_a_local_one() {
        let head = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n";
        let local = "eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\n";
        let default = "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\n";
        assert!(!has_default_route(&format!("{head}{local}")));
        assert!(has_default_route(&format!("{head}{local}{default}")));

        let zero = "0".repeat(32);
        let route = |device: &str| format!("{zero} 00 {zero} 00 {zero} 1 1 0 200200 {device}\n");
        assert!(!has_default_route6(&route("lo")));
        assert!(has_default_route6(&route("eth0")));
    }

    #[test]
    fn the_real_machine_can_be_read() {
        let machine = Machine::read(&environment(None));
        assert!(machine.kernel.starts_with("Linux "), "{machine:?}");
        assert!(!machine.os_version.is_empty() && !machine.arch.is_empty(), "{machine:?}");
    }
}
