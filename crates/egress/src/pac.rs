//! The same decisions as a script that browsers understand: who asks the proxy, and who connects directly.

use std::net::SocketAddr;

use crate::setup::Setup;

/// A literal IPv4 address; `isInNet` would ask the resolver about a name.
const IS_ADDRESS: &str =
    "function isAddress(host) {\n  return /^\\d+\\.\\d+\\.\\d+\\.\\d+$/.test(host);\n}\n";

/// The script. Without a proxy, or with nothing to do for it, everything connects directly.
pub(crate) fn script(setup: &Setup, proxy: Option<SocketAddr>) -> String {
    let Some(proxy) = proxy.filter(|_| setup.is_configured()) else {
        return "function FindProxyForURL(url, host) {\n  return \"DIRECT\";\n}\n".to_owned();
    };
    let ask = format!("return \"PROXY {proxy}\";");
    let direct = "return \"DIRECT\";";
    let mut lines = vec![
        "host = host.toLowerCase();".to_owned(),
        "if (host == \"localhost\" || shExpMatch(host, \"*.localhost\") || shExpMatch(host, \"127.*\") || host == \"::1\" || host == \"[::1]\") {"
            .to_owned(),
    ];
    lines.push(format!("  {direct}"));
    lines.push("}".to_owned());
    for mapping in &setup.mappings {
        let host = mapping.source_host().replace(['"', '\\'], "");
        lines.push(format!(
            "// {} is answered by {}",
            plain(&mapping.source),
            plain(&mapping.target)
        ));
        lines.push(format!("if (shExpMatch(host, \"{host}\")) {{ {ask} }}"));
    }
    // A policy holds for everything, so everything must pass the proxy, which knows who meets the upstream.
    if setup.policy.is_default() {
        // What depends on the port is left to the proxy.
        for rule in setup.excludes.iter().filter(|rule| !rule.has_ports()) {
            lines.push(format!("// {}", plain(rule.text())));
            lines.push(format!("if ({}) {{ {direct} }}", rule.script()));
        }
        if setup.upstream.is_none() {
            lines.push(direct.to_owned());
        } else if setup.includes.is_empty() {
            lines.push(ask);
        } else {
            for rule in &setup.includes {
                lines.push(format!("if ({}) {{ {ask} }}", rule.script()));
            }
            lines.push(direct.to_owned());
        }
    } else {
        lines.push(ask);
    }
    let body: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("{IS_ADDRESS}function FindProxyForURL(url, host) {{\n{body}}}\n")
}

/// What cannot end a comment.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_graphic).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Mapping;
    use crate::policy::Policy;
    use crate::upstream::Upstream;

    const PROXY: Option<SocketAddr> =
        Some(SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 4711));

    #[test]
    fn without_anything_chosen_everything_goes_directly() {
        let text = script(&Setup::default(), PROXY);
        assert!(text.contains("DIRECT") && !text.contains("PROXY"), "{text}");
    }

    #[test]
    fn mappings_excludes_and_includes_are_told_and_no_password_is() {
        let rule = |text: &str| text.parse().unwrap();
        let mut setup = Setup {
            mappings: vec![Mapping::parse("*.app.test/v1/*", "3000").unwrap()],
            excludes: vec![rule("10.0.0.0/8"), rule(".local.test"), rule("a.test:80")],
            upstream: Upstream::parse("u:hunter2@p.test:1", None).ok(),
            ..Setup::default()
        };
        let text = script(&setup, PROXY);
        for part in [
            "shExpMatch(host, \"*.app.test\")",
            "PROXY 127.0.0.1:4711",
            "isInNet(host, \"10.0.0.0\", \"255.0.0.0\")",
            "dnsDomainIs(host, \".local.test\")",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("a.test:80"), "the proxy knows ports: {text}");
        assert!(!text.contains("hunter2") && text.trim_end().ends_with('}'), "{text}");
        setup.includes = vec![rule("*.far.test")];
        assert!(script(&setup, PROXY).contains("shExpMatch(host, \"*.far.test\")"));
        setup.policy = Policy { deny_by_default: true, ..Policy::default() };
        assert!(!script(&setup, PROXY).contains("local.test"), "the policy holds for all");
    }
}
