//! Names in a zip: UTF-8 by flag or by nature, else the character set of the first PCs.

/// What the upper half of that set stands for.
const UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// A name as the file system shall have it. Systems of DOS's kin also part directories with `\`.
pub(super) fn decode(raw: &[u8], by_unix: bool) -> Vec<u8> {
    let mut name = match str::from_utf8(raw) {
        Ok(_) => raw.to_vec(),
        Err(_) => raw.iter().map(|byte| character(*byte)).collect::<String>().into_bytes(),
    };
    if !by_unix {
        name.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
    }
    name
}

fn character(byte: u8) -> char {
    match byte.checked_sub(128) {
        None => char::from(byte),
        Some(upper) => UPPER.chars().nth(upper.into()).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_utf8_or_else_from_the_first_pcs() {
        assert_eq!(UPPER.chars().count(), 128);
        assert_eq!(decode("über/ß".as_bytes(), true), "über/ß".as_bytes());
        assert_eq!(decode(b"\x81ber", true), "über".as_bytes());
        assert_eq!(decode(b"a\xff", true), "a\u{a0}".as_bytes());
    }

    #[test]
    fn backslashes_part_directories_where_they_come_from_dos() {
        assert_eq!(decode(b"a\\b", false), b"a/b");
        assert_eq!(decode(b"a\\b", true), b"a\\b");
    }
}
