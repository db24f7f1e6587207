import { deviceGrantType } from '../../core/clients/client.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import {
  account,
  type DrawbridgeFixture,
  startDrawbridge,
  type Tokens,
} from '../../../tests/support/server/drawbridge-fixture.ts'

const devicePage = 'http://localhost:8787/oauth/device'
const connectionsPage = 'http://localhost:8787/account/connections'

let drawbridge: DrawbridgeFixture
let browser: Browser
beforeEach(async () => {
  drawbridge = await startDrawbridge({ sessionCheck: '2s' })
  browser = drawbridge.browser()
})
afterEach(() => drawbridge.close())

interface AllowedDevice {
  allowed: Visit
  poll(): Promise<{ status: number; error?: string } & Partial<Tokens>>
}

/** Creates a device that the fixture's account has approved, and that has not polled since. */
async function allowDevice(): Promise<AllowedDevice> {
  const grantTypes = [deviceGrantType, 'refresh_token']
  const { client_id: clientId } = await drawbridge.register({
    client_name: 'TV',
    redirect_uris: [],
    grant_types: grantTypes,
  })
  const started = await drawbridge.postForm('/oauth/device_authorization', { client_id: clientId })
  const device = (await started.json()) as { device_code: string; user_code: string }
  const entry = await browser.visit(devicePage)
  const login = await browser.submit(entry, 'user_code', { user_code: device.user_code })
  return {
    allowed: await browser.submit(login, 'password', account),
    async poll() {
      const response = await drawbridge.postForm('/oauth/token', {
        grant_type: deviceGrantType,
        client_id: clientId,
        device_code: device.device_code,
      })
      return { ...((await response.json()) as Tokens), status: response.status }
    },
  }
}

const openConnections = async (): Promise<Visit> => {
  const page = await browser.visit(connectionsPage)
  return page.html.includes('name="password"') ? browser.submit(page, 'password', account) : page
}

const grantIdIn = ({ html }: Visit): string => /name="connection" value="([^"]+)"/.exec(html)?.[1] ?? ''

describe('what was allowed and has not been fetched', () => {
  it('a device: the page that allows it does not say that it is connected', async () => {
    const { allowed } = await allowDevice()
    expect(allowed.html).toContain('Your device can connect now')
    expect(allowed.html).toContain('2 minutes')
  })

  it('a device is listed with a button of its own, which ends it', async () => {
    const { poll } = await allowDevice()
    drawbridge.runtime.advance(30)
    const list = await openConnections()
    for (const text of [
      'Allowed, not connected yet',
      '“<bdi>TV</bdi>”',
      'A device, with a code',
      'just now',
    ]) {
      expect(list.html).toContain(text)
    }
    expect(list.html).not.toContain('No app is connected')
    const after = await browser.submit(list, 'connection', { connection: grantIdIn(list), action: 'end' })
    expect(after.html).toContain('“<bdi>TV</bdi>” is no longer connected')
    expect(after.html).toContain('No app is connected')
    expect(await poll()).toMatchObject({ status: 400, error: 'expired_token' })
    expect(drawbridge.logged()).toContain('connection_revoked')
  })

  it('an app is listed as well, and ended by the same button', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    const list = await openConnections()
    expect(list.html).toContain('An app')
    await browser.submit(list, 'connection', { connection: grantIdIn(list), action: 'end' })
    expect((await drawbridge.redeem(clientId, code)).status).toBe(400)
  })

  it('ends with all connections: neither a device nor an app gets tokens any more', async () => {
    const device = await allowDevice()
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    const ended = await browser.submit(await openConnections(), 'action', {
      action: 'end_all',
      connection: '',
    })
    expect(ended.html).toContain('All connections ended')
    expect(ended.html).toContain('No app is connected')
    expect(await device.poll()).toMatchObject({ status: 400, error: 'expired_token' })
    expect((await drawbridge.redeem(clientId, code)).status).toBe(400)
  })

  it('is connected once it is fetched, and listed as such', async () => {
    const { poll } = await allowDevice()
    expect((await poll()).status).toBe(200)
    const list = await openConnections()
    expect(list.html).toContain('One connection')
    expect(list.html).not.toContain('not connected yet')
  })

  it('signed out everywhere at the provider meanwhile, a device gets no tokens', async () => {
    const { poll } = await allowDevice()
    const admin = drawbridge.admin
    const user = admin?.findUser(account.email)
    for (const { id } of admin?.listSessions(user?.id ?? '') ?? []) admin?.endSession(id)
    drawbridge.runtime.advance(3)
    expect(await poll()).toMatchObject({ status: 400, error: 'expired_token' })
  })

  it('of somebody else it is neither listed nor ended', async () => {
    const { poll } = await allowDevice()
    await drawbridge.admin.createUser({
      email: 'eve@example.com',
      password: 'correct horse battery',
    })
    const eve = drawbridge.browser()
    const page = await eve.visit(connectionsPage)
    const list = await eve.submit(page, 'password', {
      email: 'eve@example.com',
      password: 'correct horse battery',
    })
    expect(list.html).toContain('No app is connected')
    const mine = await openConnections()
    await eve.submit(list, 'form', { connection: grantIdIn(mine), action: 'end' })
    expect((await poll()).status).toBe(200)
  })
})
