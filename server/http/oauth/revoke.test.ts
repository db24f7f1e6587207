import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type DrawbridgeFixture, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'

let drawbridge: DrawbridgeFixture
beforeEach(async () => {
  drawbridge = await startDrawbridge()
})
afterEach(() => drawbridge.close())

describe('POST /oauth/revoke (RFC 7009)', () => {
  it('RFC 7009 2.1: answers 200 without content, and the connection is over, at the provider too', async () => {
    const { clientId, tokens } = await drawbridge.connect()
    const response = await drawbridge.postForm('/oauth/revoke', {
      client_id: clientId,
      token: tokens.refresh_token,
    })
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect((await drawbridge.mcp({}, { authorization: `Bearer ${tokens.access_token}` })).status).toBe(401)
    const now = drawbridge.runtime.now()
    expect(await drawbridge.app.store.claimSignOuts({ limit: 10, until: now }, now)).toHaveLength(1)
  })

  it('is in the log with its reason, and without a token', async () => {
    const { clientId, tokens } = await drawbridge.connect()
    await drawbridge.postForm('/oauth/revoke', { client_id: clientId, token: tokens.refresh_token })
    expect(drawbridge.logged()).toContain('"reason":"revoked_by_client"')
    expect(drawbridge.logged()).not.toContain(tokens.refresh_token)
  })
})
