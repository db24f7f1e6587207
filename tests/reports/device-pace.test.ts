import { afterEach, expect, it } from 'vitest'
import { type DrawbridgeFixture, startDrawbridge } from '../support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../support/server/fake-runtime.ts'

/*
 * Devices that keep to the interval as a network and a timer let them (cli/oauth, OpenID apps of Nextcloud): a few milliseconds early
 * are not "too early", and a device that was told to slow down once recovers.
 */

const grantType = 'urn:ietf:params:oauth:grant-type:device_code'

let drawbridge: DrawbridgeFixture | undefined
afterEach(() => drawbridge?.close())

/** Polls after each of the pauses in milliseconds, the first of them since a full second. */
async function pollAfter(pauses: readonly number[]): Promise<unknown[]> {
  const runtime = createFakeRuntime()
  drawbridge = await startDrawbridge({}, runtime)
  const { client_id } = await drawbridge.register({ grant_types: [grantType, 'refresh_token'] })
  const started = await drawbridge.postForm('/oauth/device_authorization', { client_id })
  const { device_code, interval } = (await started.json()) as { device_code: string; interval: number }
  expect(interval).toBe(5)
  const told: unknown[] = []
  for (const pause of pauses) {
    await runtime.sleep(pause)
    const response = await drawbridge.postForm('/oauth/token', {
      grant_type: grantType,
      client_id,
      device_code,
    })
    told.push(((await response.json()) as { error: unknown }).error)
  }
  return told
}

const steady = (ms: number): number[] => Array.from({ length: 8 }, () => ms)

it.each<[pace: string, pauses: readonly number[]]>([
  ['exactly five seconds', steady(5000)],
  ['40 ms early each time', [20, ...steady(4960)]],
  ['late, then early by the same', [0, 5400, 4600, 5400, 4600, 5400]],
  ['on both sides of a full second', [999, 4002, 5998, 4002]],
])('a device that polls every five seconds, %s, is never told to slow down', async (_pace, pauses) => {
  expect(await pollAfter(pauses)).toEqual(pauses.map(() => 'authorization_pending'))
})

it('a device that polled too fast once is in time when it polls every five seconds again', async () => {
  const [first, early, ...later] = await pollAfter([0, 1000, ...steady(5000)])
  expect([first, early]).toEqual(['authorization_pending', 'slow_down'])
  expect(new Set(later)).toEqual(new Set(['authorization_pending']))
})

it('a device that polls every second is told to slow down each time', async () => {
  const [first, ...later] = await pollAfter(steady(1000))
  expect(first).toBe('authorization_pending')
  expect(new Set(later)).toEqual(new Set(['slow_down']))
})
