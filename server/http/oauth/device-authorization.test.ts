import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  account,
  baseUrl,
  type DrawbridgeFixture,
  startDrawbridge,
  type Tokens,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import type { Visit } from '../../../tests/support/server/browser.ts'
import { deviceGrantType } from '../../core/clients/client.ts'
import type { DeviceAuthorizationResponse } from '../../core/authorization/device-authorization.ts'

let drawbridge: DrawbridgeFixture
let clientId: string
beforeEach(async () => {
  drawbridge = await startDrawbridge()
  const metadata = { grant_types: ['authorization_code', 'refresh_token', deviceGrantType] }
  clientId = (await drawbridge.register(metadata)).client_id
})
afterEach(() => drawbridge.close())

const path = '/oauth/device_authorization'

async function start(): Promise<DeviceAuthorizationResponse> {
  const response = await drawbridge.postForm(path, { client_id: clientId, scope: 'mcp' })
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  return (await response.json()) as DeviceAuthorizationResponse
}

function poll(deviceCode: string): Promise<Response> {
  return drawbridge.postForm('/oauth/token', {
    grant_type: deviceGrantType,
    client_id: clientId,
    device_code: deviceCode,
  })
}

async function errorOf(response: Response): Promise<unknown> {
  expect(response.status).toBe(400)
  return ((await response.json()) as { error: unknown }).error
}

/** Enters the code at the address as a user does, and returns the page that shows the client. */
async function enter(
  device: DeviceAuthorizationResponse,
): Promise<{ login: Visit; browser: ReturnType<DrawbridgeFixture['browser']> }> {
  const browser = drawbridge.browser()
  const entry = await browser.visit(device.verification_uri)
  const login = await browser.submit(entry, 'user_code', { user_code: device.user_code.toLowerCase() })
  return { login, browser }
}

describe('the device authorization grant (RFC 8628), from end to end', () => {
  it('RFC 8628 3.5: a person allows it, and the device calls a tool as that person', async () => {
    const device = await start()
    expect(await errorOf(await poll(device.device_code))).toBe('authorization_pending')
    const { login, browser } = await enter(device)
    await browser.submit(login, 'password', account)
    drawbridge.runtime.advance(device.interval)
    const answered = await poll(device.device_code)
    expect(answered.status).toBe(200)
    const tokens = (await answered.json()) as Tokens
    expect(await drawbridge.callTool(tokens.access_token, 'whoami')).toMatchObject({
      text: expect.stringContaining(account.email),
      isError: false,
    })
    expect((await drawbridge.refresh(clientId, tokens.refresh_token)).status).toBe(200)
    drawbridge.runtime.advance(device.interval)
    expect(await errorOf(await poll(device.device_code))).toBe('invalid_grant')
  })

  it('neither code is in the log', async () => {
    const device = await start()
    await poll(device.device_code)
    const { login, browser } = await enter(device)
    await browser.submit(login, 'password', account)
    await poll(device.device_code)
    expect(drawbridge.logged()).toContain('device_authorization_started')
    expect(drawbridge.logged()).not.toContain(device.device_code)
    expect(drawbridge.logged()).not.toContain(device.user_code)
  })
})

describe('how many devices one address may start', () => {
  const from = (address?: string): Promise<Response> =>
    drawbridge.app.fetch(
      new Request(baseUrl + path, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `client_id=${clientId}`,
      }),
      { address },
    )

  it('thirty in ten minutes, the next one is told when to come back; others are not concerned', async () => {
    for (let count = 0; count < 30; count += 1) expect((await from('2001:db8::1')).status).toBe(200)
    drawbridge.runtime.advance(60)
    const refused = await from('2001:db8::2')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('540')
    expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect((await from('2001:db8:0:1::1')).status).toBe(200)
    drawbridge.runtime.advance(540)
    expect((await from('2001:db8::1')).status).toBe(200)
  })

  it('all addresses together, known or not, so that nobody fills the store', async () => {
    const { store } = drawbridge.app
    const { countAttempt } = store
    const keys = new Set<string>()
    // As if that many had been started before.
    store.countAttempt = async (key, ...rest) => {
      keys.add(key)
      const counted = await countAttempt(key, ...rest)
      return { ...counted, count: counted.count + (key === 'device start' ? 3000 - 2 : 0) }
    }
    expect((await from()).status).toBe(200)
    expect((await from('192.0.2.1')).status).toBe(200)
    const refused = await from()
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('600')
    expect([...keys].join(' ')).not.toContain('192.0.2.1')
  })
})
