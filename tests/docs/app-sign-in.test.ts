import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ada, appJwt, startAppFixture } from '../support/server/app-fixture.ts'
import { blocksOf, root } from './command-block.ts'

const page = 'docs/app-sign-in.md'
const files = blocksOf(page).flatMap(({ mark, text }) =>
  mark?.kind === 'file' ? [{ file: mark.text, text }] : [],
)

it('docs/app-sign-in.md shows six frameworks', () => {
  expect(files.map(({ file }) => file)).toEqual([
    'express.mjs',
    'hono.mjs',
    'better-auth.mjs',
    'auth-js.mjs',
    'fastapi_app.py',
    'django_app.py',
  ])
})

it.each(files)('docs/app-sign-in.md shows $file as it runs in the tests', ({ file, text }) => {
  expect(readFileSync(join(root, 'examples/app-sign-in', file), 'utf8')).toContain(text.trim())
})

it('docs/app-sign-in.md names the members of the description and the claims of the JWT as they are', async () => {
  const text = readFileSync(join(root, page), 'utf8')
  const app = await startAppFixture()
  const { client_id: clientId } = await app.server.register()
  const request = await app.begin(clientId)
  const answer = await app.server.fetch(`/oauth/app?request=${encodeURIComponent(request)}`)
  const described = (await answer.json()) as { client: object; scopes: object[] }
  const shown = blocksOf(page).find(({ language }) => language === 'json')?.text ?? '{}'
  const expected = JSON.parse(shown) as typeof described
  expect(Object.keys(expected)).toEqual(Object.keys(described))
  expect(Object.keys(expected.client)).toEqual(Object.keys(described.client))
  expect(Object.keys(expected.scopes[0] ?? {})).toEqual(Object.keys(described.scopes[0] ?? {}))
  for (const claim of ['aud', 'sub', 'iat', 'exp', 'jti', ...Object.keys(ada), 'token', 'expires_in'])
    expect(text).toMatch(new RegExp(`^\\| .*\`${claim}\``, 'm'))
  const denied = await app.server.fetch('/oauth/app', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ request, allow: false }),
  })
  expect(denied.status).toBe(200)
  expect((await app.allow(await app.begin(clientId), appJwt('user', app.runtime.now(), ada))).status).toBe(
    200,
  )
  await app.server.close()
})
