//! Cookies, in the form Playwright gives them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{StateError, text};
use crate::context::Context;
use crate::error::Error;
use crate::network::Address;
use crate::{CdpError, Result};

/// A cookie.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cookie {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The host it belongs to; with a dot before it, those below it too.
    pub domain: String,
    /// The path below which it is sent.
    pub path: String,
    /// Seconds since 1970 when it expires; -1 when it ends with the browser.
    pub expires: f64,
    /// Whether it is kept from scripts.
    pub http_only: bool,
    /// Whether it is sent only over safe connections.
    pub secure: bool,
    /// `Strict`, `Lax` or `None`.
    pub same_site: String,
}

/// A cookie to set; what is not given is the browser's choice.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NewCookie {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// An address whose host and path it shall belong to.
    pub url: Option<String>,
    /// The host it belongs to.
    pub domain: Option<String>,
    /// The path below which it is sent.
    pub path: Option<String>,
    /// Seconds since 1970 when it expires; with the browser when missing or not positive.
    pub expires: Option<f64>,
    /// Whether it is kept from scripts.
    pub http_only: Option<bool>,
    /// Whether it is sent only over safe connections.
    pub secure: Option<bool>,
    /// `Strict`, `Lax` or `None`, in letters of any size; other words leave it to the browser.
    pub same_site: Option<String>,
}

impl Context {
    /// Its cookies: all of them, or those that would be sent to one of these addresses.
    pub async fn cookies(&self, urls: &[String]) -> Result<Vec<Cookie>> {
        let parse = |url: &String| {
            Address::parse(url).ok_or_else(|| StateError::Address { address: url.clone() })
        };
        let addresses = urls.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let answer = self.command("Storage.getCookies", json!({})).await?;
        let all = answer["cookies"].as_array().into_iter().flatten().map(Cookie::read);
        let sent = |cookie: &Cookie| {
            addresses.is_empty() || addresses.iter().any(|address| cookie.is_sent_to(address))
        };
        Ok(all.filter(sent).collect())
    }

    /// Sets cookies; none when one of them is wrong.
    pub async fn set_cookies(&self, cookies: &[NewCookie]) -> Result<()> {
        let orders = cookies.iter().enumerate().map(|(position, cookie)| {
            let name = cookie.name.clone();
            cookie.order().map_err(|reason| StateError::Cookie { position, name, reason })
        });
        let orders = orders.collect::<Result<Vec<_>, _>>()?;
        match self.command("Storage.setCookies", json!({"cookies": orders})).await {
            Err(Error::Protocol(CdpError::Refused { message, .. })) => {
                Err(self.culprit(cookies, &orders, message).await)
            }
            other => other.map(drop),
        }
    }

    /// Deletes all cookies; how many there were.
    pub async fn clear_cookies(&self) -> Result<usize> {
        let count = self.cookies(&[]).await?.len();
        self.command("Storage.clearCookies", json!({})).await?;
        Ok(count)
    }

    /// The browser refuses a whole list without naming what it dislikes: one by one it does.
    async fn culprit(&self, cookies: &[NewCookie], orders: &[Value], message: String) -> Error {
        for (position, (cookie, order)) in cookies.iter().zip(orders).enumerate() {
            let params = json!({"cookies": [order]});
            let answer = self.command("Storage.setCookies", params).await;
            if let Err(Error::Protocol(CdpError::Refused { message, .. })) = answer {
                let name = cookie.name.clone();
                return StateError::Cookie { position, name, reason: message }.into();
            }
        }
        let name = cookies.first().map(|cookie| cookie.name.clone()).unwrap_or_default();
        StateError::Cookie { position: 0, name, reason: message }.into()
    }
}

impl Cookie {
    fn read(cookie: &Value) -> Self {
        let session = cookie["session"] == true;
        let expires = cookie["expires"].as_f64().filter(|_| !session).unwrap_or(-1.0);
        let same_site = cookie["sameSite"].as_str().unwrap_or("Lax").to_owned();
        Self {
            name: text(&cookie["name"]),
            value: text(&cookie["value"]),
            domain: text(&cookie["domain"]),
            path: text(&cookie["path"]),
            expires,
            http_only: cookie["httpOnly"] == true,
            secure: cookie["secure"] == true,
            same_site,
        }
    }

    fn is_sent_to(&self, address: &Address) -> bool {
        let domain = self.domain.to_ascii_lowercase();
        let host = match domain.strip_prefix('.') {
            Some(parent) => address.host == parent || address.host.ends_with(&domain),
            None => address.host == domain,
        };
        let below = address.path.strip_prefix(self.path.as_str());
        let path = below.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/')
        });
        host && path && (!self.secure || address.is_safe())
    }
}

impl NewCookie {
    /// What the browser is told, or why it would refuse.
    fn order(&self) -> Result<Value, String> {
        let forbidden = |text: &str| text.chars().any(|char| char.is_control() || char == ';');
        if self.name.is_empty() && self.value.is_empty() {
            return Err("it has neither a name nor a value".to_owned());
        }
        if forbidden(&self.name) || self.name.contains('=') || forbidden(&self.value) {
            return Err(
                "names and values must not hold ; or control characters, names no =".to_owned()
            );
        }
        let mut order = json!({"name": self.name, "value": self.value});
        match (&self.url, &self.domain) {
            (Some(url), _) => {
                let address = Address::parse(url);
                if !address.is_some_and(|address| address.scheme.starts_with("http")) {
                    return Err(format!("its url {url:?} is no http or https address"));
                }
                order["url"] = json!(url);
            }
            (None, Some(domain)) if !domain.is_empty() => {
                order["domain"] = json!(domain);
                order["path"] = json!(self.path.as_deref().unwrap_or("/"));
            }
            _ => return Err("it needs a url, or a domain and a path".to_owned()),
        }
        if let Some(path) = &self.path {
            if !path.starts_with('/') {
                return Err(format!("its path {path:?} does not begin with /"));
            }
            order["path"] = json!(path);
        }
        if let Some(expires) = self.expires.filter(|expires| *expires > 0.0) {
            order["expires"] = json!(expires);
        }
        let flags = [("httpOnly", self.http_only), ("secure", self.secure)];
        for (name, flag) in flags {
            if let Some(flag) = flag {
                order[name] = json!(flag);
            }
        }
        let same_site = self.same_site.as_deref().unwrap_or_default().to_ascii_lowercase();
        match same_site.as_str() {
            "strict" => order["sameSite"] = json!("Strict"),
            "lax" => order["sameSite"] = json!("Lax"),
            "none" | "no_restriction" => {
                order["sameSite"] = json!("None");
            }
            _ => {}
        }
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie(domain: &str, path: &str, secure: bool) -> Cookie {
        Cookie::read(&json!({
            "name": "a", "value": "1", "domain": domain, "path": path, "secure": secure,
            "expires": 5.0, "session": true,
        }))
    }

    #[test]
    fn a_cookie_goes_where_the_browser_would_send_it() {
        let sent = |cookie: &Cookie, url: &str| cookie.is_sent_to(&Address::parse(url).unwrap());
        let host = cookie("example.com", "/", false);
        assert!(sent(&host, "http://example.com/x") && !sent(&host, "http://www.example.com/"));
        let domain = cookie(".example.com", "/", false);
        assert!(sent(&domain, "http://example.com") && sent(&domain, "http://www.example.com/"));
        assert!(!sent(&domain, "http://badexample.com/"));
        let below = cookie("h", "/a", false);
        assert!(sent(&below, "http://h/a") && sent(&below, "http://h/a/b?c"));
        assert!(!sent(&below, "http://h/ab") && !sent(&below, "http://h/"));
        let safe = cookie("h", "/", true);
        assert!(sent(&safe, "https://h/") && !sent(&safe, "http://h/"));
        assert!(sent(&cookie("localhost", "/", true), "http://localhost:8080/"));
        assert!(host.expires < 0.0);
    }

    #[test]
    fn a_cookie_that_cannot_be_is_refused_before_the_browser_sees_it() {
        let good = NewCookie {
            name: "a".into(),
            value: "1".into(),
            domain: Some("h".into()),
            same_site: Some("NONE".into()),
            expires: Some(-1.0),
            ..NewCookie::default()
        };
        let order = good.order().unwrap();
        assert_eq!(
            order,
            json!({"name": "a", "value": "1", "domain": "h", "path": "/", "sameSite": "None"})
        );
        for bad in [
            NewCookie { domain: None, ..good.clone() },
            NewCookie { name: "a;b".into(), ..good.clone() },
            NewCookie { name: String::new(), value: String::new(), ..good.clone() },
            NewCookie { value: "x\ny".into(), ..good.clone() },
            NewCookie { url: Some("about:blank".into()), ..good.clone() },
            NewCookie { path: Some("x".into()), ..good.clone() },
        ] {
            assert!(bad.order().is_err(), "{bad:?}");
        }
    }
}
