// Public ids are made by whoever creates the thing: one letter and 12 characters of base32.
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

export function newId(letter: 'a' | 'j' | 'k' | 'r' | 'u'): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return letter + Array.from(bytes, (byte) => ALPHABET[byte & 31]).join('')
}
