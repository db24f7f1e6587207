import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { type DrawbridgeFixture, startDrawbridge } from '../../tests/support/server/drawbridge-fixture.ts'
import { checkSettings } from '../config/config.ts'
import { faultTexts, fileFaults } from '../config/setting-file.ts'
import { settingsOfObject } from '../config/setting-source.ts'

const folder = temporaryFolder(afterAll)
const path = join(folder, 'well-known.json')

const texts = {
  'openai-apps-challenge': 'proof-123',
  'mcp-registry-auth': 'v=MCPv1; k=ed25519; p=abc=',
  'security.txt': 'Contact: mailto:ä@example.com\nExpires: 2027-01-01T00:00:00Z\n',
}

describe('texts of the operator', () => {
  let drawbridge: DrawbridgeFixture
  // Below a path of the base URL: they are at the root of the origin all the same.
  const baseUrl = 'http://localhost:8787/drawbridge'
  const get = (name: string, method = 'GET'): Promise<Response> =>
    drawbridge.app.fetch(new Request(`http://localhost:8787/.well-known/${name}`, { method }))

  beforeAll(async () => {
    writeFileSync(path, JSON.stringify(texts))
    drawbridge = await startDrawbridge({ baseUrl, wellKnown: path })
  })
  afterAll(() => drawbridge.close())

  it.each(Object.entries(texts))(
    '%s is served at the root of the origin, to the letter',
    async (name, text) => {
      const response = await get(name)
      expect([response.status, await response.text()]).toEqual([200, text])
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
      expect(response.headers.get('cache-control')).toBe('no-store')
    },
  )

  it('texts of the operator allow no other methods and names, and leave discovery unchanged', async () => {
    expect((await get('openai-apps-challenge', 'POST')).status).toBe(405)
    expect((await get('other')).status).toBe(404)
    expect((await get('openai-apps-challenge/more')).status).toBe(404)
    const discovery = await get('oauth-authorization-server/drawbridge')
    expect(await discovery.json()).toMatchObject({ issuer: baseUrl })
  })
})

it('texts of the operator are not served by default', async () => {
  const drawbridge = await startDrawbridge()
  expect((await drawbridge.fetch('/.well-known/openai-apps-challenge')).status).toBe(404)
  await drawbridge.close()
})

describe('a file that cannot be used', () => {
  const faults = (content: unknown): string[] => {
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    const checked = checkSettings(settingsOfObject({ wellKnown: path }), { production: false })
    return faultTexts(fileFaults(checked, ['wellKnown'], 0), checked.nameOf)
  }

  it.each<[string, unknown, string]>([
    ['no JSON', '{', 'is not valid JSON'],
    ['a list', [], 'must be an object'],
    ['a number', { a: 1 }, 'a must be a text of 1 to'],
    ['an empty text', { a: '' }, 'a must be a text of 1 to'],
    ['too long a text', { a: 'x'.repeat(16_385) }, 'a must be a text of 1 to'],
    ['an empty name', { '': 'x' }, '"" is not allowed'],
    ['a path', { 'a/b': 'x' }, '"a/b" is not allowed'],
    ['a way up', { '..': 'x' }, '".." is not allowed'],
    ['a pattern', { ':name': 'x' }, '":name" is not allowed'],
    ...['oauth-authorization-server', 'oauth-protected-resource', 'openid-configuration', 'oauth-x'].map(
      (name): [string, unknown, string] => [
        `the server's own ${name}`,
        { [name]: 'x' },
        'documents of this server are reserved',
      ],
    ),
  ])('a file of texts is refused because of %s', (_title, content, fault) => {
    expect(faults(content)).toEqual([expect.stringContaining(fault)])
    expect(faults(content)[0]).toContain('docs/directories.md')
  })

  it('a file of texts is reported with all its faults at once, or as not found', () => {
    expect(faults({ a: 1, 'b/c': 'x' })).toHaveLength(2)
    const checked = checkSettings(settingsOfObject({ wellKnown: join(folder, 'no.json') }), {
      production: false,
    })
    expect(faultTexts(fileFaults(checked, ['wellKnown'], 0), checked.nameOf).join()).toContain(
      'file not found',
    )
  })
})
