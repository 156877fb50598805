//! The browser's way out: through the sandbox's proxy, unless the operator leads it elsewhere.

use crate::programs::Programs;

/// By these the operator leads the browser elsewhere.
const ELSEWHERE: [&str; 3] = ["--proxy-", "--no-proxy-server", "--host-resolver-rules"];
/// Pages of this machine do not take the hop. What Chromium leaves out of its own accord includes the addresses at which
/// clouds tell credentials, so its list is taken away and replaced.
const DIRECT: &str = "--proxy-bypass-list=<-loopback>;localhost;*.localhost;127.0.0.0/8;[::1]";

/// The operator's arguments with those that lead to the proxy, which listens from now on.
pub(super) fn arguments(programs: &Programs, given: &[String]) -> Vec<String> {
    let mut arguments = Vec::new();
    let led = given.iter().any(|given| ELSEWHERE.iter().any(|other| given.starts_with(other)));
    if let Some(egress) = programs.egress().filter(|egress| !egress.is_off() && !led) {
        match egress.listen() {
            Ok(address) => {
                arguments.push(format!("--proxy-server=http://{address}"));
                arguments.push(DIRECT.to_owned());
            }
            Err(error) => {
                tracing::warn!(%error, "the egress proxy cannot listen; the browser goes without");
            }
        }
    }
    arguments.extend_from_slice(given);
    arguments
}
