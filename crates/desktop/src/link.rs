//! A connection to the X server of a desktop, with what every user of one needs to know.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt, Window};
use x11rb::rust_connection::{DefaultStream, RustConnection};

use crate::error::Error;
use crate::options::Size;

const COOKIE: &[u8] = b"MIT-MAGIC-COOKIE-1";

/// Where an X server is, and what opens it.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// Number of the display.
    pub(crate) number: u32,
    /// What a client must know.
    pub(crate) key: [u8; 16],
}

impl Address {
    /// As programs are told.
    pub(crate) fn display(&self) -> String {
        format!(":{}", self.number)
    }

    fn socket(&self) -> PathBuf {
        PathBuf::from(format!("/tmp/.X11-unix/X{}", self.number))
    }

    /// The key as a file that any client understands: for every host and every display.
    pub(crate) fn authority(key: &[u8; 16]) -> Vec<u8> {
        let mut file = vec![0xff, 0xff, 0, 0, 0, 0];
        for part in [COOKIE, key.as_slice()] {
            file.extend(u16::try_from(part.len()).unwrap_or_default().to_be_bytes());
            file.extend(part);
        }
        file
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) connection: RustConnection,
    pub(crate) root: Window,
}

impl Link {
    /// Connects. Blocks until the server has answered.
    pub(crate) fn open(address: &Address) -> Result<Self, Error> {
        let gone = |error: std::io::Error| Error::Gone { reason: error.to_string() };
        let stream = UnixStream::connect(address.socket()).map_err(gone)?;
        let (stream, _) = DefaultStream::from_unix_stream(stream).map_err(gone)?;
        let connection = RustConnection::connect_to_stream_with_auth_info(
            stream,
            0,
            COOKIE.to_vec(),
            address.key.to_vec(),
        )?;
        let root = connection.setup().roots.first().map(|screen| screen.root);
        let root = root.ok_or_else(|| Error::Gone { reason: "it has no screen".to_owned() })?;
        Ok(Self { connection, root })
    }

    /// Waits until the server has done everything asked so far.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.connection.get_input_focus()?.reply()?;
        Ok(())
    }

    /// Size of the screen as it is now.
    pub(crate) fn size(&self) -> Result<Size, Error> {
        let geometry = self.connection.get_geometry(self.root)?.reply()?;
        Ok(Size { width: geometry.width, height: geometry.height })
    }

    pub(crate) fn atom(&self, name: &str) -> Result<Atom, Error> {
        Ok(self.connection.intern_atom(false, name.as_bytes())?.reply()?.atom)
    }

    /// The bytes of a property, up to a bound that no honest one reaches; none when it is not there.
    pub(crate) fn property(&self, window: Window, name: Atom) -> Result<Vec<u8>, Error> {
        const WORDS: u32 = 1 << 16;
        let property =
            self.connection.get_property(false, window, name, AtomEnum::ANY, 0, WORDS)?;
        Ok(property.reply()?.value)
    }

    /// A property that is a list of numbers.
    pub(crate) fn numbers(&self, window: Window, name: Atom) -> Result<Vec<u32>, Error> {
        const WORDS: u32 = 1 << 16;
        let property =
            self.connection.get_property(false, window, name, AtomEnum::ANY, 0, WORDS)?;
        Ok(property.reply()?.value32().into_iter().flatten().collect())
    }
}
