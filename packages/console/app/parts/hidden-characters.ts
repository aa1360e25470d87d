/** A piece of a text: as it is, or a character that no reader would see, with its code point. */
export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "hidden"; readonly code: string; readonly name: string };

/**
 * What changes how a text reads without being seen: controls (but not tab and line feed), format characters such as bidi marks and
 * zero widths, line and paragraph separators, tags, variation selectors, fillers, lone surrogates.
 * Source: Unicode Standard Annex 9 and Technical Report 36, section 3.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\u2800]|(?![\uFE0E\uFE0F])\p{Default_Ignorable_Code_Point}|(?! )\p{Zs}/u;
const PLAIN = new Set(["\t", "\n"]);

const NAMES: Readonly<Record<string, string>> = {
  "\r": "carriage return",
  "\u0000": "null",
  "\u001B": "escape",
  "\u00A0": "no-break space",
  "\u00AD": "soft hyphen",
  "\u061C": "Arabic letter mark",
  "\u200B": "zero width space",
  "\u200C": "zero width non-joiner",
  "\u200D": "zero width joiner",
  "\u200E": "left-to-right mark",
  "\u200F": "right-to-left mark",
  "\u202A": "left-to-right embedding",
  "\u202B": "right-to-left embedding",
  "\u202C": "pop directional formatting",
  "\u202D": "left-to-right override",
  "\u202E": "right-to-left override",
  "\u2066": "left-to-right isolate",
  "\u2067": "right-to-left isolate",
  "\u2068": "first strong isolate",
  "\u2069": "pop directional isolate",
  "\uFEFF": "zero width no-break space",
};

/** A joiner between two pictures makes one of them, as in a family: there it hides nothing. */
const JOINED = /(?<=\p{Extended_Pictographic}\uFE0F?|\p{Emoji_Modifier})\u200D(?=\p{Extended_Pictographic})/u;

/** Cuts a text so that what is hidden in it can be shown. */
export function piecesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let plain = "";
  const end = (): void => {
    if (plain !== "") pieces.push({ kind: "text", text: plain });
    plain = "";
  };
  let index = 0;
  for (const character of text) {
    if (!HIDDEN.test(character) || PLAIN.has(character) || isJoint(text, index, character))
      plain += character;
    else {
      end();
      const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
      pieces.push({ kind: "hidden", code, name: NAMES[character] ?? "invisible character" });
    }
    index += character.length;
  }
  end();
  return pieces;
}

function isJoint(text: string, index: number, character: string): boolean {
  if (character !== "\u200D") return false;
  const around = text.slice(Math.max(0, index - 4), index + 3);
  return JOINED.test(around);
}
