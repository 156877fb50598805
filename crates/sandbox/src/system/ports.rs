//! TCP ports something listens on, read from the kernel's tables. Programs of other users count too: what an agent
//! wants to know is which ports it cannot take.

use std::collections::BTreeSet;

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// State `TCP_LISTEN` in the kernel's tables.
const LISTEN: &str = "0A";

/// The ports in rising order. Blocks on `/proc`.
pub(crate) fn occupied() -> Vec<String> {
    let mut ports = BTreeSet::new();
    for table in TABLES {
        // Without IPv6 its table does not exist.
        let table = std::fs::read_to_string(table).unwrap_or_default();
        ports.extend(listening(&table));
    }
    ports.iter().map(ToString::to_string).collect()
}

fn listening(table: &str) -> impl Iterator<Item = u16> {
    table.lines().skip(1).filter_map(|line| {
        let mut columns = line.split_ascii_whitespace();
        let (_, port) = columns.nth(1)?.rsplit_once(':')?;
        let state = columns.nth(1)?;
        (state == LISTEN).then(|| u16::from_str_radix(port, 16).ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
             0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1\n\
             1: 0100007F:1F91 0100007F:0050 01 00000000:00000000 00:00000000 00000000 0 0 2\n\
             broken line\n";
        assert_eq!(listening(table).collect::<Vec<_>>(), [8080]);
    }

    #[test]
    fn a_real_listener_is_seen() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        assert!(occupied().contains(&port));
    }

    #[test]
    fn ports_come_in_rising_order() {
        let ports: Vec<u16> = occupied().iter().map(|port| port.parse().unwrap()).collect();
        assert!(ports.is_sorted_by(|one, next| one < next));
    }
}
