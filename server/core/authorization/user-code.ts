// Without vowels no code is a word; none of these letters is mistaken for another or for a digit (RFC 8628 section 6.1).
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ'
const length = 8

// The largest multiple of the alphabet's size in a byte: bytes above it would make some letters more likely.
const fairBytes = 256 - (256 % alphabet.length)

/** Creates a user code of eight letters, about 34 random bits, formatted as shown to users: `WDJB-MJHT` (RFC 8628 section 6.1). */
export function createUserCode(randomBytes: (length: number) => Uint8Array): string {
  let letters = ''
  while (letters.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < fairBytes && letters.length < length) letters += alphabet[byte % alphabet.length] ?? ''
    }
  }
  return shown(letters)
}

/** Ignores letter case, blanks, punctuation and full-width forms (RFC 8628 section 6.1). */
export function normaliseUserCode(typed: string): string | undefined {
  // Longer input is never a user code.
  if (typed.length > 64) return undefined
  const letters = typed
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '')
  return /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/.test(letters) ? shown(letters) : undefined
}

function shown(letters: string): string {
  return `${letters.slice(0, length / 2)}-${letters.slice(length / 2)}`
}
