import { expect, it } from 'vitest'
import { clientIdOfToken, isPersonalToken, readTokenWish, tokenNameOf } from './personal-token.ts'

const a = (count: number): string => 'A'.repeat(count)

// The checksums are of another implementation: zlib in Python.
it.each<[what: string, token: string, is: boolean]>([
  ['a checksum of six digits', `mcpt_${a(35)}s01U6lwF`, true],
  ['a checksum of three digits, after zeros', `mcpt_${a(32)}s2454000B2g`, true],
  ['zeros after its digits', `mcpt_${a(32)}s2454B2g000`, false],
  ['the checksum of another secret', `mcpt_${a(36)}B1U6lwF`, false],
  ['an empty checksum', `mcpt_${a(35)}s0`, false],
  ['text before it', ` mcpt_${a(35)}s01U6lwF`, false],
])('a personal token with %s: %s is %s', (_what, token, is) => {
  expect(isPersonalToken(token)).toBe(is)
})

it.each(['CI', 'Nightly <build> & more', 'Zoë’s “Büro” 山田 %41 %', '👩‍💻', 'a:b/c?d=e', "it's (mine)!*~"])(
  'the name %s becomes printable ASCII in a header and a variable, and is itself again on a page',
  (name) => {
    const clientId = clientIdOfToken({ name })
    expect(clientId).toMatch(/^personal_token:[!-~]+$/)
    expect(tokenNameOf(clientId)).toBe(name)
  },
)

it.each<[what: string, name: string, kept: string | undefined]>([
  ['40 letters beyond the first plane', '𝒜'.repeat(40), '𝒜'.repeat(40)],
  ['41 letters', '𝒜'.repeat(41), undefined],
  ['line breaks, tabs and marks of direction', ' a\r\n\tb\u202Ec ', 'a b c'],
  ['half a letter', 'a\uD83Db', 'a b'],
])('a name with %s becomes one that can be shown, or is refused', (_what, name, kept) => {
  expect(readTokenWish({ name, scopes: [], days: '7' }, [])?.name).toBe(kept)
})
