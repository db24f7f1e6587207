import { beforeEach, describe, expect, it } from 'vitest'
import { dueSignOuts, grantSeconds, start } from '../../../tests/support/server/core/grant-sample.ts'
import { issuingSample } from '../../../tests/support/server/core/issuing-sample.ts'
import { publicClient, resource, signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { type IssuedTokens, tokenKey } from '../tokens/token-issue.ts'
import { isDeviceCode, redeemAuthorizationCode } from './authorization-code.ts'
import { deviceGrantType } from '../clients/client.ts'
import type { PendingDevice } from './device-authorization-store.ts'
import {
  approveDevice,
  denyDevice,
  type DeviceAuthorizationPorts,
  type DeviceAuthorizationResponse,
  findDeviceByUserCode,
  redeemDeviceCode,
  startDeviceAuthorization,
} from './device-authorization.ts'

const client = publicClient({ grantTypes: ['authorization_code', 'refresh_token', deviceGrantType] })

let { runtime, store, ports, ended } = issuingSample()
let started: DeviceAuthorizationResponse

beforeEach(async () => {
  ;({ runtime, store, ports, ended } = issuingSample())
  started = await begin()
})

const begin = (changes: Partial<Parameters<typeof startDeviceAuthorization>[0]> = {}) =>
  startDeviceAuthorization(
    { client, scope: 'mcp offline_access', resources: [], address: '192.0.2.7', ...changes },
    ports,
  )

const poll = (
  deviceCode = started.device_code,
  by = client,
  resources: string[] = [],
): Promise<IssuedTokens> => redeemDeviceCode({ client: by, deviceCode, resources }, ports)

async function waiting(): Promise<PendingDevice> {
  const device = await findDeviceByUserCode(started.user_code, ports)
  if (!device) throw new Error('No device waits.')
  return device
}

const approve = async (): Promise<boolean> =>
  (await approveDevice(await waiting(), signInSample(), ports)) !== undefined

const refusal = (code: string) => ({ name: 'OAuthError', code, status: 400 })

describe('startDeviceAuthorization', () => {
  it('RFC 8628 3.2, RFC 8628 5.2: a device authorization response has both codes, the address to visit and their lifetime', () => {
    expect(started).toEqual({
      device_code: expect.stringMatching(/^mcpd_[A-Za-z0-9_-]{43}$/),
      user_code: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/),
      verification_uri: 'https://mcp.example.com/oauth/device',
      verification_uri_complete: `https://mcp.example.com/oauth/device?user_code=${started.user_code}`,
      expires_in: 900,
      interval: 5,
    })
  })

  it('startDeviceAuthorization stores the request, and neither code', async () => {
    const device = await waiting()
    expect(device).toEqual({
      deviceHash: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      userCodeHash: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      clientId: client.id,
      scope: 'mcp offline_access',
      resource,
      address: '192.0.2.7',
      createdAt: start,
      expiresAt: start + 900,
    })
    expect(JSON.stringify(device)).not.toContain(started.user_code)
    expect(JSON.stringify(device)).not.toContain(started.device_code)
  })

  it('startDeviceAuthorization tries another user code if one is taken, and gives up if all are', async () => {
    const taken: string[] = []
    const mostly = (free: number): DeviceAuthorizationPorts => ({
      ...ports,
      store: {
        ...store,
        addDevice: async ({ userCodeHash }) => taken.push(userCodeHash) > free,
      },
    })
    const request = { client, scope: undefined, resources: [], address: undefined }
    await startDeviceAuthorization(request, mostly(4))
    expect(new Set(taken).size).toBe(5)
    taken.length = 0
    await expect(startDeviceAuthorization(request, mostly(5))).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      status: 503,
    })
  })

  it.each<[rule: string, changes: Partial<Parameters<typeof startDeviceAuthorization>[0]>, error: string]>([
    ['RFC 8707 2: a foreign resource', { resources: ['https://other.example/mcp'] }, 'invalid_target'],
    ['RFC 6749 3.3: a scope that none can be', { scope: 'mcp "' }, 'invalid_scope'],
  ])('startDeviceAuthorization refuses %s', async (_rule, changes, error) => {
    await expect(begin(changes)).rejects.toMatchObject(refusal(error))
  })

  it.each([undefined, 'openid profile', 'mcp'])(
    'startDeviceAuthorization reduces the scope %j to the supported ones',
    async (scope) => {
      started = await begin({ scope })
      expect((await waiting()).scope).toBe('mcp')
    },
  )
})

it('RFC 8628 6.1: findDeviceByUserCode finds a code however it is typed', async () => {
  const typed = ` ${started.user_code.toLowerCase().replace('-', ' ')} `
  expect((await findDeviceByUserCode(typed, ports))?.clientId).toBe(client.id)
})

it.each(['', 'BCDF-GHJK'])('findDeviceByUserCode finds nothing under %j', async (typed) => {
  expect(await findDeviceByUserCode(typed, ports)).toBeUndefined()
})

describe('redeemDeviceCode', () => {
  it('RFC 8628 3.5: a device waits, then gets the tokens of the user who approved it', async () => {
    await expect(poll()).rejects.toMatchObject(refusal('authorization_pending'))
    runtime.advance(5)
    expect(await approve()).toBe(true)
    const { grant, response } = await poll()
    expect(grant).toMatchObject({
      clientId: client.id,
      user: { sub: 'sub ada' },
      resource,
      expiresAt: start + 5 + grantSeconds,
    })
    expect(response).toMatchObject({ token_type: 'Bearer', expires_in: 3590, scope: 'mcp offline_access' })
    expect(response.refresh_token).toMatch(/^mcpr_/)
    expect(await store.findAccessToken(tokenKey(response.access_token), runtime.now())).toBeDefined()
  })

  it('RFC 8628 3.5: a device that polls too fast is slowed down', async () => {
    await expect(poll()).rejects.toMatchObject(refusal('authorization_pending'))
    runtime.advance(3)
    await expect(poll()).rejects.toMatchObject(refusal('slow_down'))
    runtime.advance(3)
    await expect(poll()).rejects.toMatchObject(refusal('slow_down'))
    runtime.advance(5)
    await expect(poll()).rejects.toMatchObject(refusal('authorization_pending'))
  })

  it('RFC 8628 3.5: a device that the user refused gets access_denied', async () => {
    expect(await denyDevice(await waiting(), ports)).toBe(true)
    await expect(poll()).rejects.toMatchObject(refusal('access_denied'))
  })

  it('RFC 8628 3.5: a device that polls too late gets expired_token', async () => {
    runtime.advance(900)
    await expect(poll()).rejects.toMatchObject(refusal('expired_token'))
  })

  it('RFC 8628 3.4: the code of another client is unknown, and its polls do not slow the owner down', async () => {
    const other = publicClient({ id: 'mcpc_other', grantTypes: client.grantTypes })
    await approve()
    await expect(poll(started.device_code, other)).rejects.toMatchObject(refusal('invalid_grant'))
    expect((await poll()).grant.clientId).toBe(client.id)
  })

  it.each(['', `mcpd_${'x'.repeat(43)}`, `mcpd_${'x'.repeat(43)} mcpc_public`])(
    'RFC 8628 3.5: the device code %j is invalid_grant',
    async (deviceCode) => {
      await expect(poll(deviceCode)).rejects.toMatchObject(refusal('invalid_grant'))
    },
  )

  it('RFC 8707 2.2: a device code sent for a foreign resource is refused, and stays good', async () => {
    await approve()
    await expect(poll(undefined, client, ['https://other.example/'])).rejects.toMatchObject(
      refusal('invalid_target'),
    )
    expect((await poll(undefined, client, [`${resource}/`])).grant.resource).toBe(resource)
  })

  it('RFC 9700 2.1.1: a device code presented again later ends its grant', async () => {
    await approve()
    const { response } = await poll()
    runtime.advance(11)
    await expect(poll()).rejects.toMatchObject(refusal('invalid_grant'))
    expect(ended.map(([, reason]) => reason)).toEqual(['code_reuse'])
    expect(await store.findAccessToken(tokenKey(response.access_token), runtime.now())).toBeUndefined()
  })

  it('redeemDeviceCode refuses a device code as an authorization code', async () => {
    await approve()
    for (const code of [started.device_code, `device ${started.device_code} ${client.id}`]) {
      const request = { client, code, codeVerifier: 'x'.repeat(43), redirectUri: undefined, resources: [] }
      await expect(redeemAuthorizationCode(request, ports)).rejects.toMatchObject(refusal('invalid_grant'))
    }
    expect((await poll()).grant.clientId).toBe(client.id)
  })
})

it.each([
  [119, undefined],
  [120, 'expired_token'],
])('RFC 8628 5.4: an approved device that fetches its tokens after %i s: %s', async (after, error) => {
  await approve()
  runtime.advance(after)
  const outcome = await poll().then(
    () => undefined,
    (thrown: { code?: string }) => thrown.code,
  )
  expect(outcome).toBe(error)
})

it('a device that was approved in the last seconds of its code cannot use it for longer', async () => {
  runtime.advance(890)
  await approve()
  runtime.advance(10)
  await expect(poll()).rejects.toMatchObject(refusal('expired_token'))
})

it('a device whose approval was revoked gets expired_token, and its session is signed out at the provider', async () => {
  await approve()
  const [waits] = await store.listUnredeemedCodes(undefined, { now: runtime.now(), limit: 5 })
  expect(waits && isDeviceCode(waits)).toBe(true)
  await store.endGrants({ userId: waits?.grant.user.id ?? '' }, 'revoked_by_user', {
    now: runtime.now(),
    limit: 5,
  })
  await expect(poll()).rejects.toMatchObject(refusal('expired_token'))
  expect(await dueSignOuts(store, runtime.now())).toHaveLength(1)
})

it('a device is told to wait between the decision and the grant', async () => {
  const { deviceHash } = await waiting()
  await store.decideDevice(deviceHash, 'approved', runtime.now())
  await expect(poll()).rejects.toMatchObject(refusal('authorization_pending'))
})
