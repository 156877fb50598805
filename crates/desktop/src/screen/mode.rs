//! The sizes the screen can be switched to while it is in use.

use x11rb::protocol::randr::{self, ConnectionExt as _, SetConfig};

use super::capture::Eyes;
use crate::error::Error;
use crate::options::Size;

const fn size(width: u16, height: u16) -> Size {
    Size { width, height }
}

/// The sizes `Xvnc` offers.
pub const MODES: [Size; 13] = [
    size(1920, 1200),
    size(1920, 1080),
    size(1600, 1200),
    size(1680, 1050),
    size(1400, 1050),
    size(1360, 768),
    size(1280, 1024),
    size(1280, 960),
    size(1280, 800),
    size(1280, 720),
    size(1024, 768),
    size(800, 600),
    size(640, 480),
];

impl Eyes {
    pub(crate) fn resize(&mut self, wanted: Size) -> Result<(), Error> {
        if self.link().size()? == wanted {
            return Ok(());
        }
        let (connection, root) = (&self.link().connection, self.link().root);
        // A viewer may change it at the same moment: what was read is then out of date.
        for _ in 0..5 {
            let info = connection.randr_get_screen_info(root)?.reply()?;
            let fits = |size: &randr::ScreenSize| {
                (size.width, size.height) == (wanted.width, wanted.height)
            };
            let index = info.sizes.iter().position(fits).ok_or(Error::Mode { asked: wanted })?;
            let answer = connection.randr_set_screen_config(
                root,
                info.timestamp,
                info.config_timestamp,
                u16::try_from(index).unwrap_or_default(),
                randr::Rotation::ROTATE0,
                0,
            )?;
            if answer.reply()?.status == SetConfig::SUCCESS {
                return Ok(());
            }
        }
        Err(Error::Mode { asked: wanted })
    }
}
