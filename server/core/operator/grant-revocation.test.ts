import { beforeEach, describe, expect, it } from 'vitest'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { sampleKey } from '../../../tests/support/server/core/keeper-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { fixedKeyRing } from '../seal.ts'
import type { Store } from '../store.ts'
import { tokenKey } from '../tokens/token-issue.ts'
import { revokeGrantsOperation } from './grant-revocation.ts'
import { OperatorRefusal } from './operation.ts'

const access = `mcpa_0000000${'a'.repeat(43)}`
const refresh = `mcpr_0000000${'f'.repeat(22)}${'a'.repeat(43)}`
const personal = `mcpt_${'p'.repeat(43)}`

let store: Store
let reported: string[]

beforeEach(async () => {
  store = openMemoryStore()
  reported = []
  const sample = grantSample('of pair')
  const tokens = { ...sample.tokens, accessHash: tokenKey(access), refreshHash: tokenKey(refresh) }
  await addGrant(store, { ...sample, tokens })
  const other = grantSample('personal')
  await addGrant(store, { ...other, tokens: { ...other.tokens, accessHash: tokenKey(personal) } })
})

function revoke(stdin: string, given: object = { token: '-', yes: false }): Promise<object> {
  async function* lines(): AsyncGenerator<string> {
    yield* stdin.split('\n')
  }
  return revokeGrantsOperation.handle(given, {
    store,
    providerIssuer: 'https://provider',
    runtime: createFakeRuntime(start + 60),
    configured: new Map(),
    ring: fixedKeyRing([sampleKey('one', 1)]),
    keyFile: undefined,
    report: (event) => void reported.push(event),
    note: () => {},
    isStopped: () => false,
    auditLines: lines,
  })
}

const refusal = async (work: Promise<object>): Promise<string> => {
  try {
    return JSON.stringify(await work)
  } catch (error) {
    if (!(error instanceof OperatorRefusal)) throw error
    return `${error.status} ${error.message} ${error.nextStep}`
  }
}

describe('grants revoke --token -', () => {
  it.each([
    ['access', access, 'grant of pair'],
    ['refresh', refresh, 'grant of pair'],
    ['personal', personal, 'grant personal'],
  ])('ends the grant of the %s token on stdin, and that one only', async (_kind, token, id) => {
    expect(await revoke(`\n  ${token}\r\nmore`)).toEqual({ revoked: 1, grants: [id] })
    const records = await store.listGrants(undefined, { after: '', limit: 9 })
    expect(records.filter(({ end }) => end).map(({ grant }) => grant.id)).toEqual([id])
    expect(reported).toEqual(['admin_grant_revoked'])
  })

  it.each([
    ['an unknown token', `mcpt_${'q'.repeat(43)}`],
    ['nothing', ''],
  ])('refuses %s without showing it', async (_what, token) => {
    const text = await refusal(revoke(token))
    expect(text).toMatch(/^404 No live grant has this token\./)
    if (token !== '') expect(text).not.toContain(token)
  })

  it('refuses a token whose grant has ended', async () => {
    await store.endGrant('grant personal', 'revoked_by_user', start)
    expect(await refusal(revoke(personal))).toMatch(/^404/)
  })

  it('refuses another choice beside the token', async () => {
    expect(await refusal(revoke(access, { token: '-', id: 'grant personal' }))).toMatch(
      /^400 It is not clear/,
    )
  })
})
