import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeClientWithGrants } from '../../core/clients/client-removal.ts'
import {
  type DrawbridgeFixture,
  startDrawbridge,
  type Tokens,
} from '../../../tests/support/server/drawbridge-fixture.ts'

let drawbridge: DrawbridgeFixture
beforeEach(async () => {
  drawbridge = await startDrawbridge()
})
afterEach(() => drawbridge.close())

async function errorOf(response: Response): Promise<[status: number, error: unknown]> {
  const body = (await response.json()) as { error: unknown; error_description: string }
  expect(body.error_description).not.toBe('')
  expect(response.headers.get('cache-control')).toBe('no-store')
  return [response.status, body.error]
}

async function tokensOf(response: Response): Promise<Tokens> {
  expect(response.status).toBe(200)
  return (await response.json()) as Tokens
}

describe('grant_type=authorization_code', () => {
  let store: DrawbridgeFixture['app']['store']
  let clientId: string
  let code: string
  beforeEach(async () => {
    ;({ store } = drawbridge.app)
    clientId = (await drawbridge.register()).client_id
    code = await drawbridge.code(clientId)
  })

  /** Lets something happen between the look at a client and the redemption of its code. */
  function beforeRedemption(work: () => Promise<unknown>): void {
    const { redeemAuthorizationCode } = store
    store.redeemAuthorizationCode = async (...given) => {
      await work()
      return redeemAuthorizationCode(...given)
    }
  }

  it('tokens get to the client although the store cannot record that it is in use', async () => {
    store.keepClient = () => Promise.reject(new Error('The store is full.'))
    const tokens = await tokensOf(await drawbridge.redeem(clientId, code))
    expect((await drawbridge.callTool(tokens.access_token, 'whoami')).isError).toBe(false)
    expect(drawbridge.logged()).toContain('client_not_kept')
  })

  it('a client whose use could not be recorded is recorded at its next refresh, and so not forgotten after a day', async () => {
    const { keepClient } = store
    // As if the process were killed between the two writes.
    store.keepClient = async () => {}
    const { refresh_token: token } = await tokensOf(await drawbridge.redeem(clientId, code))
    store.keepClient = keepClient
    drawbridge.runtime.advance(3600)
    const next = await tokensOf(await drawbridge.refresh(clientId, token))
    drawbridge.runtime.advance(86_400)
    await store.collectExpired(drawbridge.runtime.now(), 1000)
    expect((await drawbridge.refresh(clientId, next.refresh_token)).status).toBe(200)
  })

  it('RFC 7592 2.3: no grant begins for a client that is removed while its code is redeemed', async () => {
    beforeRedemption(() => removeClientWithGrants(clientId, { store, runtime: drawbridge.runtime }))
    // Removing the client ends its codes as well.
    expect(await errorOf(await drawbridge.redeem(clientId, code))).toEqual([400, 'invalid_grant'])
    expect(await store.listGrants({ clientId }, { after: '', limit: 10 })).toEqual([])
  })

  it('RFC 7592 2.3: a grant that begins while its client is removed ends at once', async () => {
    const { redeemAuthorizationCode } = store
    store.redeemAuthorizationCode = async (...given) => {
      const redemption = await redeemAuthorizationCode(...given)
      await store.removeClient(clientId)
      return redemption
    }
    expect(await errorOf(await drawbridge.redeem(clientId, code))).toEqual([401, 'invalid_client'])
    const [record] = await store.listGrants({ clientId }, { after: '', limit: 10 })
    expect(record?.end?.reason).toBe('client_removed')
  })

  it('a registration that would have expired at the moment of the sign-in is kept', async () => {
    drawbridge.runtime.advance(86_399)
    code = await drawbridge.code(clientId)
    beforeRedemption(async () => drawbridge.runtime.advance(1))
    expect((await drawbridge.redeem(clientId, code)).status).toBe(200)
  })

  it('a client that cannot be looked up is not taken for a removed one', async () => {
    beforeRedemption(async () => {
      store.findClient = () => Promise.reject(new Error('The store is away.'))
    })
    expect((await drawbridge.redeem(clientId, code)).status).toBe(200)
  })

  it('RFC 7592 2.2: a redirect URI that the client removed meanwhile gets no tokens', async () => {
    const stored = await store.findClient(clientId)
    if (stored) await store.replaceClient({ ...stored, redirectUris: ['https://new.example/callback'] })
    expect(await errorOf(await drawbridge.redeem(clientId, code))).toEqual([400, 'invalid_grant'])
  })
})

it('grant_type=refresh_token does not call the provider', async () => {
  const { clientId, tokens } = await drawbridge.connect()
  drawbridge.admin.setFaults({ failNext: { status: 503, count: 1000 } })
  drawbridge.runtime.advance(7200)
  expect((await drawbridge.refresh(clientId, tokens.refresh_token)).status).toBe(200)
})
