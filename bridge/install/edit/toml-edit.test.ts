import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseToml, readTomlEntries, removeTomlEntry, setTomlEntry } from './toml-edit.ts'
import { thrownBy } from '../../../tests/support/thrown-by.ts'

const keys = ['mcp_servers']
const entry = { command: '/node', args: ['launcher.cjs', 'https://a.example/mcp'] }
const lines = 'command = "/node"\nargs = ["launcher.cjs", "https://a.example/mcp"]'
const none = (): boolean => false
const set = (text: string, isKept: (key: string) => boolean = none): string =>
  setTomlEntry(text, keys, 'me', entry, isKept)
const remove = (text: string): string => removeTomlEntry(text, keys, 'me')

describe('a new table', () => {
  it.each([
    ['nothing', '', `[mcp_servers.me]\n${lines}\n`],
    ['a line without an end', 'a = 1', `a = 1\n\n[mcp_servers.me]\n${lines}`],
    ['a table', '[a]\nb = 1\n', `[a]\nb = 1\n\n[mcp_servers.me]\n${lines}\n`],
    ['CRLF', 'a = 1\r\n', `a = 1\r\n\r\n[mcp_servers.me]\r\n${lines.replace('\n', '\r\n')}\r\n`],
    [
      'dotted keys',
      'mcp_servers.b.command = "x"\n',
      `mcp_servers.b.command = "x"\n\n[mcp_servers.me]\n${lines}\n`,
    ],
  ])('is put at the end, and goes without a trace: %s', (_, before, after) => {
    expect(set(before)).toBe(after)
    expect(remove(after)).toBe(before)
  })

  it('holds strings that TOML would read otherwise', () => {
    const strings = [String.raw`C:\a b\node.exe`, `it's "so"`, 'a\u007Fb', String.raw`it's C:\x`, 'é\n\t']
    const text = setTomlEntry('', keys, 'me', { args: strings, env: { 'A B': 'c' } }, none)
    expect(text).toContain(String.raw`'C:\a b\node.exe'`)
    expect(readTomlEntries(text, keys).get('me')).toEqual({ args: strings, env: { 'A B': 'c' } })
  })
})

describe('a table that is there', () => {
  it('keeps the lines that are kept, with their comments', () => {
    const before = [
      '# top',
      '[ mcp_servers . "me" ] # ours',
      'command = "old" # gone',
      'startup_timeout_sec = 60 # slow',
      'args = [',
      '  "a", # ]',
      '  """b',
      ']""",',
      ']',
      '',
      '[mcp_servers.me.env]',
      'X = "1"',
      '',
      '[mcp_servers.me.tools.x] # kept',
      'approval_mode = "prompt"',
      '',
      '[other]',
      "a = '''",
      '[mcp_servers.me]',
      "'''",
    ].join('\n')
    expect(set(before, (key) => ['startup_timeout_sec', 'tools'].includes(key)).split('\n')).toEqual([
      '# top',
      '[ mcp_servers . "me" ] # ours',
      ...lines.split('\n'),
      'startup_timeout_sec = 60 # slow',
      '',
      '',
      '[mcp_servers.me.tools.x] # kept',
      'approval_mode = "prompt"',
      '',
      '[other]',
      "a = '''",
      '[mcp_servers.me]',
      "'''",
    ])
  })

  it('that is inline is replaced by a table of its own', () => {
    expect(set('[mcp_servers]\nme = { command = "x" } # c\nb = {}\n')).toBe(
      `[mcp_servers]\nb = {}\n\n[mcp_servers.me]\n${lines}\n`,
    )
  })

  it.each([
    ['[mcp_servers]\nme = { command = "x", timeout = 1 }', ['mcp_servers', 'me'], true],
    ['[mcp_servers]\nme.command = "x"\nme.args = []', ['mcp_servers', 'me'], false],
    ['mcp_servers.me.command = "x"', ['mcp_servers', 'me'], false],
    ['[mcp_servers.me.env]\nA = "b"', ['mcp_servers', 'me'], false],
    ['mcp_servers = { b = { command = "x" } }', ['mcp_servers'], false],
  ])('is refused in a form that cannot be edited alone: %j', (text, path, isKept) => {
    expect(thrownBy(() => set(text, () => isKept))).toHaveProperty('fault', { kind: 'form', path })
  })
})

describe('a removed table', () => {
  it.each([
    [
      'with its sub-tables',
      '[a]\n\n[mcp_servers.me]\ncommand = "x"\n# c\nargs = []\n\n[mcp_servers.me.env]\nA = "b"\n\n# z\n[z]\n',
      '[a]\n\n# z\n[z]\n',
    ],
    ['in two places', '[mcp_servers.me]\nb = 1\n[z]\n[mcp_servers.me.env]\nA = "b"\n', '[z]\n'],
    ['inline', '[mcp_servers]\nme = { command = "x" } # c\nb = {}\n', '[mcp_servers]\nb = {}\n'],
    [
      'with dotted keys',
      '[mcp_servers]\nme.command = "x"\nb.c = 1\nme.args = []\n',
      '[mcp_servers]\nb.c = 1\n',
    ],
    [
      'of tables in a list',
      '[mcp_servers.me]\n[[mcp_servers.me.x]]\na = 1\n[[mcp_servers.me.x]]\n[y]\n',
      '[y]\n',
    ],
    ['that is not there', '[mcp_servers.you]\n', '[mcp_servers.you]\n'],
  ])('leaves the rest as it is: %s', (_, before, after) => {
    expect(remove(before)).toBe(after)
  })

  it('is refused within an inline table', () => {
    expect(thrownBy(() => remove('mcp_servers = { me = { command = "x" } }'))).toMatchObject({
      fault: { kind: 'form', path: ['mcp_servers'] },
    })
  })
})

describe('a text that is not read', () => {
  it.each([
    ['a = 1\nb = \n', { kind: 'syntax', line: 2 }],
    ['a = 1\na = 2\n', { kind: 'syntax', line: 2 }],
    ['mcp_servers = 1', { kind: 'not_object', path: ['mcp_servers'] }],
    ['[[mcp_servers]]', { kind: 'not_object', path: ['mcp_servers'] }],
  ])('%j', (text, fault) => {
    expect(thrownBy(() => set(text))).toMatchObject({ fault })
  })

  it('tells no line of it', () => {
    expect(inspect(thrownBy(() => set('token = "s3cret\n')))).not.toContain('s3cret')
  })
})

const tricky = fc.constantFrom(
  '#',
  '[x]',
  ']',
  '}',
  '=',
  "it's",
  '"',
  '\\',
  '\n[mcp_servers.me]\n',
  'a',
  '"""',
  "'''",
)
const basic = fc.array(tricky).map((parts) => JSON.stringify(parts.join('')))
const long = fc
  .array(fc.constantFrom('#', '\n[a]\n', '= ', "'", String.raw`\"`, 'x', '\r\n'))
  .map((parts) => `"""\n${parts.join('')}"""`)
const literal = fc.constantFrom(
  "'#'",
  "'\\'",
  `'"'`,
  "'''\n[a]\n'''",
  "''''x'''",
  `"""x"""""`,
  `"""x""""`,
  "'''x''''",
)
const scalar = fc.oneof(
  basic,
  long,
  literal,
  fc.constantFrom('1', '1.5', 'true', '1979-05-27T07:32:00Z', '[]', '{}'),
)
const list = fc
  .array(fc.tuple(scalar, fc.constantFrom('', ' ', '\n', ' # ] "\n')), { maxLength: 3 })
  .map((items) => `[${items.map(([item, blank]) => `${blank}${item}`).join(',')}\n]`)
const value = fc.oneof(
  scalar,
  list,
  fc
    .array(
      scalar.filter((text) => !text.includes('\n')),
      { maxLength: 2 },
    )
    .map((items) => `{ ${items.map((item, index) => `k${index} = ${item}`).join(', ')} }`),
)
const blank = fc.constantFrom('', '\n', '# c\n', '\t# [mcp_servers.me]\n', '\r\n')
const comment = fc.constantFrom('', ' # c', ' # "')

/** Generates key-value lines with unique keys. */
const body = fc
  .array(fc.tuple(blank, value, comment), { maxLength: 3 })
  .map((rows) =>
    rows
      .map(
        ([before, text, after], index) =>
          `${before}${index % 2 === 0 ? `v${index}` : `"v.${index}"`} = ${text}${after}\n`,
      )
      .join(''),
  )
const headers = fc.uniqueArray(
  fc.constantFrom(
    '[a]',
    '[a.b]',
    '[mcp_servers.x]',
    '[ mcp_servers . "y.z" ]',
    "[mcp_servers.'q']",
    '[mcp_servers.x.env]',
    '[[list]]',
    '[z] # c',
  ),
)
const document = fc
  .tuple(body, headers, fc.array(body, { minLength: 8, maxLength: 8 }), blank, fc.boolean())
  .map(([root, opened, bodies, tail, hasEnd]) => {
    const text = root + opened.map((header, index) => `${header}\n${bodies[index] ?? ''}`).join('') + tail
    return hasEnd ? text : text.replace(/\r?\n$/, '')
  })
  .filter((text) => {
    try {
      return parseToml(text) !== undefined
    } catch {
      return false
    }
  })

describe('any file', () => {
  it('is byte for byte what it was after an entry came and went', () => {
    fc.assert(
      fc.property(document, (before) => {
        const after = set(before)
        expect(after.startsWith(before)).toBe(true)
        expect(readTomlEntries(after, keys).get('me')).toEqual(entry)
        expect(remove(after)).toBe(before)
      }),
      { numRuns: 500 },
    )
  })

  it('loses one entry and nothing else, whichever it is', () => {
    fc.assert(
      fc.property(document, fc.nat(), (before, pick) => {
        const entries = readTomlEntries(before, keys)
        fc.pre(entries.size > 0)
        const name = [...entries.keys()][pick % entries.size] ?? ''
        const expected = parseToml(before) as { mcp_servers?: Record<string, unknown> }
        delete expected.mcp_servers?.[name]
        const found = parseToml(removeTomlEntry(before, keys, name))
        if (entries.size === 1) delete expected.mcp_servers
        expect(found).toEqual(expected)
      }),
      { numRuns: 500 },
    )
  })
})
