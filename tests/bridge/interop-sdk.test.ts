import { describe, expect, it } from 'vitest'
import {
  answers,
  type SdkHost,
  startLegacyHost,
  startModernHost,
} from '../support/bridge/process/sdk-host.ts'
import {
  type SdkServer,
  startLegacySdkServer,
  startModernSdkServer,
} from '../support/bridge/process/sdk-server.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'

/** Local clients, by SDK. */
const hosts = { 'SDK v1': startLegacyHost, 'SDK v2': startModernHost }

const servers: Readonly<Record<string, (stage: Stage) => Promise<SdkServer>>> = {
  'SDK v1': startLegacySdkServer,
  'SDK v2, modern': (stage) => startModernSdkServer(stage, { only: true }),
  'SDK v2, both eras': (stage) => startModernSdkServer(stage, { only: false }),
}

const pairs = (['SDK v1', 'SDK v2'] as const).flatMap((host) =>
  Object.keys(servers).map((server) => [host, server] as const),
)

/** That server has no sessions for clients of 2025: it neither asks nor tells them anything by itself. */
function mayBegin(serverName: string, { era }: SdkHost): boolean {
  return serverName !== 'SDK v2, both eras' || era === 'modern'
}

async function answersEverything(host: SdkHost): Promise<void> {
  expect(JSON.parse(await host.call('elicit'))).toMatchObject(answers.elicit)
  expect(JSON.parse(await host.call('sample'))).toMatchObject(answers.sample)
  expect(JSON.parse(await host.call('roots'))).toMatchObject(answers.roots)
  const many = await Promise.all(Array.from({ length: 5 }, () => host.call('elicit')))
  for (const one of many) expect(JSON.parse(one)).toMatchObject(answers.elicit)
}

async function hearsOfTools(host: SdkHost, server: SdkServer): Promise<void> {
  // The stream that carries it may still be on its way.
  await until(async () => {
    if (host.changes() === 0) await server.changeTools()
    return host.changes() > 0
  }, 'the change is told')
  expect(await host.tools()).toContain('extra_1')
}

describe.concurrent('a client of one SDK and a server of another', () => {
  it.each(pairs)(
    'a client of %s and a server of %s exchange everything that either side may request or notify',
    (hostName, serverName) =>
      staged(async (stage) => {
        const server = (await servers[serverName]?.(stage)) as SdkServer
        const host = await hosts[hostName](stage, server.url)
        // A client of both revisions falls back before a server of 2025-11-25.
        expect(host.era).toBe(hostName === 'SDK v2' && serverName !== 'SDK v1' ? 'modern' : 'legacy')
        expect(host).toMatchObject({ serverName: 'remote', instructions: 'Call echo.' })
        expect(await host.tools()).toEqual(expect.arrayContaining(['echo', 'elicit', 'slow']))
        expect(await host.call('echo', { text: 'there and back' })).toBe('there and back')

        if (mayBegin(serverName, host)) await answersEverything(host)

        // An SDK forgets its listener with the result: what it reads together with that is lost.
        const seen: number[] = []
        const onprogress = ({ progress }: { progress: number }): void => void seen.push(progress)
        expect(await host.call('progress', { n: 4, ms: 250 }, { onprogress })).toBe('done')
        expect(seen).toEqual([1, 2, 3, 4])

        const cancel = new AbortController()
        const cancelled = host.call('slow', { ms: 60_000 }, { signal: cancel.signal })
        cancelled.catch(() => {})
        setTimeout(() => cancel.abort(), 200)
        await expect(cancelled).rejects.toThrow()
        await until(() => server.cancelled.length === 1, 'the call is cancelled')

        if (mayBegin(serverName, host)) await hearsOfTools(host, server)
        expect(await host.call('echo', { text: 'still here' })).toBe('still here')
        expect(host.errors).toEqual([])
        await host.close()
      })(),
  )
})
