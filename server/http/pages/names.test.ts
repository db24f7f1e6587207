import { describe, expect, test } from 'vitest'
import { claimedName, hostName } from './names.ts'

describe('claimedName', () => {
  test.each([
    ['an ordinary name', 'Claude Code', 'Claude Code'],
    ['space around and inside', '  Claude \n\t Code\u2028 ', 'Claude Code'],
    [
      'MCP security Confused-Deputy: direction overrides and isolates',
      'evil\u202egnp.exe\u2066\u2069\u200f',
      'evilgnp.exe',
    ],
    ['zero-width and soft hyphen', 'Cl\u200bau\u00adde\ufeff\u2060', 'Claude'],
    ['control characters', 'Cla\u0000ude\u009f', 'Cla ude'],
    ['private-use characters and lone surrogates', 'Cla\ue000ude\ud800', 'Claude'],
    ['quotation marks that would close ours', 'Claude” by “Anthropic" «x»', 'Claude’ by ’Anthropic’ ’x’'],
    ['two marks in a row, which would read as one', 'Claude"" “” ‘‘ is good', 'Claude’ ’ ’ is good'],
    ['single marks in a row', "Claude’’ and '''", 'Claude’ and ’'],
    ['a single mark and a double one', 'Claude\'"', 'Claude’'],
    ['marks that look like ours', 'a״b″c❞d〃e\u{1f678}f˝g', 'a’b’c’d’e’f’g'],
    ['an apostrophe', "Ada's ‘tool’", "Ada's ‘tool’"],
    ['a blank that counts as a letter', '\u3164', 'no name'],
    ['a blank of Braille', '\u2800', 'no name'],
    ['fillers', '\u115f\u1160', 'no name'],
    ['a joiner alone', '\u200d', 'no name'],
    ['joiners at the edges', '\u200dClaude\u200c', 'Claude'],
    ['a joiner within an emoji', '👩‍💻', '👩‍💻'],
    ['a stack of combining marks', `Z${'\u0351'.repeat(40)}a`, `Z${'\u0351'.repeat(4)}a`],
    ['joined emoji stay joined', '👩‍💻 tools', '👩‍💻 tools'],
    ['right-to-left text stays', 'עוזר', 'עוזר'],
    ['nothing', '', 'no name'],
    ['nothing visible', ' \u200b\u202e ', 'no name'],
    ['markup is text', '<b>x</b>', '<b>x</b>'],
  ])('%s', (_case, name, shown) => {
    expect(claimedName(name, 'no name')).toBe(shown)
  })

  test('claimedName shortens a long name to 64 characters as a reader counts them', () => {
    expect(claimedName('a'.repeat(64), '')).toBe('a'.repeat(64))
    expect(claimedName('a'.repeat(200), '')).toBe(`${'a'.repeat(64)}…`)
    expect(claimedName('👩‍💻'.repeat(200), '')).toBe(`${'👩‍💻'.repeat(64)}…`)
  })
})

test.each([
  ['claude.ai', '<bdi class="host">claude.ai</bdi>'],
  ['www.example.co.uk:8443', '<span class="subdomain">www.</span><wbr />example.co.uk:8443'],
  ['claude.ai.example.co.uk', '<span class="subdomain">claude.ai.</span><wbr />example.co.uk'],
  ['127.0.0.1', '<bdi class="host">127.0.0.1</bdi>'],
  ['[::1]', '<bdi class="host">[::1]</bdi>'],
  ['cursor', '<bdi class="host">cursor</bdi>'],
  ['<b>', '<bdi class="host">&lt;b&gt;</bdi>'],
])('hostName: %s', (host, markup) => {
  expect(String(hostName(host))).toContain(markup)
})
