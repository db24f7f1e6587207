import { afterEach, expect, it } from 'vitest'
import {
  baseUrl,
  type DrawbridgeFixture,
  startDrawbridge,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import { deviceGrantType } from '../../core/clients/client.ts'

let drawbridge: DrawbridgeFixture
afterEach(() => drawbridge.close())

it('an address may start thirty devices in ten minutes, and learns when to try again', async () => {
  drawbridge = await startDrawbridge()
  const { client_id: clientId } = await drawbridge.register({ grant_types: [deviceGrantType] })
  const from = (address: string): Promise<Response> => {
    const body = new URLSearchParams({ client_id: clientId })
    const request = new Request(`${baseUrl}/oauth/device_authorization`, { method: 'POST', body })
    return drawbridge.app.fetch(request, { address })
  }
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
