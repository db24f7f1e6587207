import { execFileSync } from 'node:child_process'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { quotedWord, shellWord } from './add-command.ts'
import { serverNameOf } from './server-name.ts'

test.each([
  ['https://mcp.example.com/mcp', 'example-com'],
  ['https://www.example.com/tools/mcp', 'example-com'],
  ['https://mcp.dev/mcp', 'mcp-dev'],
  ['http://localhost:8787/mcp', 'localhost-8787'],
  ['http://[::1]:8787/mcp', '1-8787'],
  ['https://_a.example/mcp', 'server-_a-example'],
  [`https://${'a.'.repeat(60)}example/mcp`, 'a-'.repeat(29)],
])('the server at %s is called %s', (url, name) => {
  expect(serverNameOf(url)).toBe(name)
})

test.each([
  ['Fieldnotes', 'fieldnotes'],
  ["Ada's Café & Bar", 'adas-cafe-bar'],
  ['  42 Notes!', '42-notes'],
  ['x'.repeat(70), 'x'.repeat(58)],
  ['メモ', 'example-com'],
  ['365', 'example-com'],
  ['"; rm -rf /', 'rm-rf'],
  ['', 'example-com'],
])('the server of the app %j is called %s', (appName, name) => {
  expect(serverNameOf('https://mcp.example.com/mcp', appName)).toBe(name)
})

test.each([
  ['https://mcp.example.com/mcp?a=1&b=2', '"https://mcp.example.com/mcp?a=1&b=2"'],
  [String.raw`C:\Program Files\nodejs\node.exe`, String.raw`"C:\Program Files\nodejs\node.exe"`],
  // A backslash before the last quote would quote it on Windows, and two are one for a POSIX shell.
  [String.raw`C:\a b` + '\\', String.raw`'C:\a b` + "\\'"],
  [String.raw`\\server\share`, String.raw`'\\server\share'`],
  ['a $b', "'a $b'"],
  ['a `b`', "'a `b`'"],
  ['a!', "'a!'"],
  ['"', `'"'`],
  ['\u201C; calc', "'\u201C; calc'"],
  ["it's", `"it's"`],
])('shellWord writes %s as %s, in quotes of every shell where there are some', (text, word) => {
  expect(shellWord(text)).toBe(word)
})

test('shellWord quotes a word only if a shell would read it in another way', () => {
  expect(shellWord('https://mcp.example.com:8443/a/mcp')).toBe('https://mcp.example.com:8443/a/mcp')
  expect(shellWord('http://[::1]/mcp')).toBe('"http://[::1]/mcp"')
  expect(shellWord('')).toBe('""')
  expect(quotedWord("it's")).toBe(String.raw`'it'\''s'`)
})

test('shellWord gives a POSIX shell the text that it was given', () => {
  const unit = fc.oneof(
    fc.string({ unit: 'grapheme-ascii' }),
    fc.constantFrom('\\', '\\\\', '"', '$(id)', '`', '!'),
  )
  const texts = fc.sample(
    fc.array(unit, { maxLength: 4 }).map((parts) => parts.join('')),
    200,
  )
  const script = texts.map((text) => `printf '%s\\n' ${shellWord(text)}`).join('\n')
  const said = execFileSync('sh', { input: script, encoding: 'utf8' })
  expect(said.split('\n').slice(0, -1)).toEqual(texts)
})
