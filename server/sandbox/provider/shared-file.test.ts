import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import {
  fakeRuntime,
  startProvider,
  type ProviderFixture,
} from '../../../tests/support/sandbox/provider-fixture.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }
const folder = mkdtempSync(join(tmpdir(), 'embedded-shared-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Opens two processes on one file, as far as the database can tell: a restart may overlap with the end of the old one. */
function openTwo(name: string): [ProviderFixture, ProviderFixture] {
  const runtime = fakeRuntime()
  const database = join(folder, name)
  return [startProvider({ database }, runtime), startProvider({ database }, runtime)]
}

async function refresh(
  provider: ProviderFixture,
  token: string,
): Promise<{ status: number; refresh_token: string }> {
  const response = await provider.call('POST', '/token?grant_type=refresh_token', { refresh_token: token })
  return { status: response.status, ...JSON.parse(await response.text()) }
}

it('two providers on one file rotate a token once between them', async () => {
  const [one, two] = openTwo('rotate.db')
  await one.admin.createUser(ADA)
  const { data } = await two.client().auth.signInWithPassword(ADA)
  let token = data.session?.refresh_token ?? ''
  for (let round = 1; round <= 5; round++) {
    const answers = await Promise.all([one, two, one, two].map((provider) => refresh(provider, token)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(new Set(answers.map((answer) => answer.refresh_token)).size).toBe(1)
    expect(one.admin.counters.rotations + two.admin.counters.rotations).toBe(round)
    token = answers[0]?.refresh_token ?? ''
  }
  one.close()
  two.close()
})

it('what one provider ends is ended for the other', async () => {
  const [one, two] = openTwo('end.db')
  const { id } = await one.admin.createUser(ADA)
  const { auth } = two.client()
  await auth.signInWithPassword(ADA)
  expect((await auth.getUser()).error).toBeNull()
  one.admin.endSession(one.admin.listSessions(id)[0]?.id ?? '')
  expect((await auth.getUser()).error?.name).toBe('AuthSessionMissingError')
  one.close()
  two.close()
})

it('a key made by one provider is published and accepted by the other', async () => {
  const [one, two] = openTwo('keys.db')
  await one.admin.createUser(ADA)
  one.admin.rotateSigningKey()
  const { data } = await one.client().auth.signInWithPassword(ADA)
  const { auth } = two.client()
  expect((await auth.getUser(data.session?.access_token)).data.user?.email).toBe(ADA.email)
  const keys = await Promise.all(
    [one, two].map(async (p) => (await p.call('GET', '/.well-known/jwks.json')).json()),
  )
  expect(keys[0]).toEqual(keys[1])
  one.close()
  two.close()
})
