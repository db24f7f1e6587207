import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { installBridge } from '../published.ts'
import { type ClientId, clientTable, type ClientWay } from './client-table.ts'
import type { NamedServer } from './server-name.ts'

const server = { name: 'example-com', url: 'https://mcp.example.com/mcp' }
const rows = Object.entries(clientTable)

function wayOf(id: ClientId, kind: ClientWay['kind']): ClientWay {
  const way = clientTable[id].ways.find((each) => each.kind === kind)
  if (way === undefined) throw new Error(`${id} has no ${kind}.`)
  return way
}

const linkOf = (id: ClientId, to: NamedServer): string => wayOf(id, 'link').text(to)

describe('exact texts', () => {
  // {"url":"https://mcp.example.com/mcp"}
  const config = 'eyJ1cmwiOiJodHRwczovL21jcC5leGFtcGxlLmNvbS9tY3AifQ%3D%3D'
  const vsCodeQuery =
    '%7B%22name%22%3A%22example-com%22%2C%22type%22%3A%22http%22%2C%22url%22%3A%22https%3A%2F%2Fmcp.example.com%2Fmcp%22%7D'

  test.each<[ClientId, string]>([
    ['cursor', `cursor://anysphere.cursor-deeplink/mcp/install?name=example-com&config=${config}`],
    ['vscode', `vscode:mcp/install?${vsCodeQuery}`],
    ['vscode-insiders', `vscode-insiders:mcp/install?${vsCodeQuery}`],
    [
      'goose',
      'goose://extension?url=https%3A%2F%2Fmcp.example.com%2Fmcp&type=streamable_http&id=example-com' +
        '&name=example-com&description=The%20MCP%20server%20example-com&timeout=300',
    ],
    ['lmstudio', `lmstudio://add_mcp?name=example-com&config=${config}`],
  ])('the link of %s has its exact text', (id, text) => {
    expect(linkOf(id, server)).toBe(text)
  })

  test.each<[ClientId, string]>([
    ['claude', 'https://mcp.example.com/mcp'],
    ['chatgpt', 'https://mcp.example.com/mcp'],
    ['claude-code', 'claude mcp add --transport http example-com https://mcp.example.com/mcp'],
    ['codex', 'codex mcp add example-com --url https://mcp.example.com/mcp'],
    ['gemini', 'gemini mcp add --scope user --transport http example-com https://mcp.example.com/mcp'],
    ['opencode', 'opencode mcp add example-com --url https://mcp.example.com/mcp'],
    [
      'inspector',
      'npx @modelcontextprotocol/inspector@latest --transport http --server-url https://mcp.example.com/mcp',
    ],
    ['stdio', 'drawbridge https://mcp.example.com/mcp'],
  ])('the text to type for %s is exact', (id, text) => {
    expect(clientTable[id].ways[0]?.text(server)).toBe(text)
  })

  test.each<[ClientId, object]>([
    ['cursor', { mcpServers: { 'example-com': { url: server.url } } }],
    ['vscode', { servers: { 'example-com': { type: 'http', url: server.url } } }],
    ['zed', { context_servers: { 'example-com': { url: server.url } } }],
    ['windsurf', { mcpServers: { 'example-com': { serverUrl: server.url } } }],
    ['claude-desktop', { mcpServers: { 'example-com': { command: 'drawbridge', args: [server.url] } } }],
  ])('the JSON of %s is exact', (id, value) => {
    expect(wayOf(id, 'entry').text(server)).toBe(JSON.stringify(value, undefined, 2))
  })
})

it.each(rows)(
  'the table of clients: each step of %s ends with a sentence, and each text to paste says where it goes',
  (_id, { ways }) => {
    for (const way of ways) {
      expect(way.next(server)).toMatch(/^[A-Z].*\.$/)
      if (way.kind === 'entry' || way.kind === 'settings') expect(way.place).toBeTruthy()
    }
  },
)

it('the commands that install the bridge name the archive of this version, as no shell of Windows completes a name', () => {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  for (const text of [installBridge, clientTable.stdio.ways[0]?.next(server)])
    expect(text).toContain(`npm install --global ./mcp-drawbridge-${version}.tgz`)
})

it('a text that names a file in the folder of the user has its path on Windows too', () => {
  const places = rows.flatMap(([, { ways }]) => ways.map(({ place = '' }) => place))
  const named = places.filter((place) => place.includes('~/'))
  expect(named.length).toBeGreaterThan(0)
  for (const place of named) {
    const [, path = ''] = /`~\/([^`]+)`/.exec(place) ?? []
    expect(place).toContain(`(on Windows \`%USERPROFILE%\\${path.replaceAll('/', '\\')}\`)`)
  }
})

describe('hostile names and URLs arrive as they are', () => {
  const hostile: NamedServer[] = [
    { name: 'a b"c\'d', url: 'https://mcp.example.com/a%20b%/mcp?x="y"&z=%C3%A4#f' },
    { name: 'Zürich 🌉 <b>', url: 'https://zürich.example/✓/mcp' },
    { name: '$(id) `id` %PATH%', url: 'https://mcp.example.com/$(id)`id`;|*?~\\' },
  ]
  const servers = fc.record({
    name: fc.string({ unit: 'binary', minLength: 1 }),
    url: fc.webUrl({ withQueryParameters: true, withFragments: true }),
  })
  const forEach = (check: (to: NamedServer) => void): void => {
    for (const each of hostile) check(each)
    fc.assert(fc.property(servers, check))
  }

  const configOf = (link: string): unknown => JSON.parse(atob(new URL(link).searchParams.get('config') ?? ''))

  test.each<ClientId>(['cursor', 'lmstudio'])('hostile names and URLs survive the link of %s', (id) => {
    forEach((to) => {
      const link = linkOf(id, to)
      expect(link).toMatch(/^[!-~]+$/)
      expect(new URL(link).searchParams.get('name')).toBe(to.name)
      expect(configOf(link)).toEqual({ url: to.url })
    })
  })

  test.each<ClientId>(['vscode', 'vscode-insiders'])(
    'hostile names and URLs survive the link of %s, decoded once or twice',
    (id) => {
      forEach((to) => {
        const link = linkOf(id, to)
        expect(link).toMatch(/^[!-~]+$/)
        const once = decodeURIComponent(link.slice(link.indexOf('?') + 1))
        for (const query of [once, decodeURIComponent(once)])
          expect(JSON.parse(query)).toEqual({ name: to.name, type: 'http', url: to.url })
      })
    },
  )

  test('hostile names and URLs survive the link of Goose', () => {
    forEach((to) => {
      const { searchParams } = new URL(linkOf('goose', to))
      const read = Object.fromEntries(searchParams)
      expect(read).toMatchObject({ name: to.name, url: to.url, type: 'streamable_http' })
    })
  })

  test.each(
    rows.flatMap(([id, { ways }]) =>
      ways.filter(({ kind }) => kind === 'entry').map((way) => [id, way] as const),
    ),
  )('hostile names and URLs survive the JSON of %s', (_id, way) => {
    forEach((to) => {
      const [list] = Object.values(JSON.parse(way.text(to)) as Record<string, Record<string, unknown>>)
      expect(Object.keys(list ?? {})).toEqual([to.name])
      expect(Object.values(list?.[to.name] ?? {}).flat()).toContain(to.url)
    })
  })

  test.each(
    rows.flatMap(([id, { ways }]) =>
      ways.filter(({ kind }) => kind === 'command').map((way) => [id, way] as const),
    ),
  )('hostile names and URLs survive a shell in the command of %s', (_id, way) => {
    for (const to of hostile) {
      const [program] = way.text(to).split(' ')
      const words = execFileSync('sh', ['-c', `${program}() { printf '%s\\0' "$@"; }\n${way.text(to)}`], {
        encoding: 'utf8',
      }).split('\0')
      expect(words).toContain(to.url)
    }
  })
})
