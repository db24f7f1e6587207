import { beforeAll, expect, it } from 'vitest'
import { type Certificates, makeCertificates } from '../support/bridge/http/certificate-fixture.ts'
import { serveProxy, type TestProxy } from '../support/bridge/http/proxy-fixture.ts'
import type { BridgeOptions } from '../support/bridge/process/bridge-child.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { startTlsFront } from '../support/bridge/process/tls-front.ts'

const password = 'pass word/%7Esecret'
const credentials = `somebody:${password}`

let certificates: Certificates
beforeAll(() => {
  certificates = makeCertificates()
})

interface Scene {
  proxy: TestProxy
  /** The URL of the proxy, with user and password. */
  proxyUrl: string
  ca: string
}

/** A server at https://mcp.test/mcp, which only the proxy can find. */
async function setScene(stage: Stage): Promise<Scene> {
  const remote = await stage.remote()
  const targetPort = await startTlsFront(stage, certificates.valid, remote.url)
  const proxy = await serveProxy({ targetPort, credentials })
  const proxyUrl = `http://somebody:${encodeURIComponent(password)}@127.0.0.1:${proxy.port}`
  return { proxy, proxyUrl, ca: stage.file('ca.pem', certificates.authority) }
}

const ways: Readonly<Record<string, (scene: Scene) => BridgeOptions>> = {
  'a flag': ({ proxyUrl, ca }) => ({ flags: ['--proxy', proxyUrl, '--ca', ca] }),
  HTTPS_PROXY: ({ proxyUrl, ca }) => ({
    flags: ['--ca', ca],
    environment: { HTTPS_PROXY: proxyUrl, HTTP_PROXY: 'http://127.0.0.1:9' },
  }),
}

it.each(Object.keys(ways))(
  'a proxy with a password named by %s carries everything, and its password is in no output and no file',
  (way) =>
    staged(async (stage) => {
      const scene = await setScene(stage)
      const options = ways[way]?.(scene) ?? {}
      const given = new Set(stage.files().keys())
      const bridge = stage.bridge('https://mcp.test/mcp', {
        ...options,
        flags: [...(options.flags ?? []), '--debug'],
      })
      expect(await bridge.initialize()).toHaveProperty('result.serverInfo.name', 'remote')
      expect(await bridge.ask('tools/list')).toHaveProperty('result.tools')
      expect(await bridge.call('echo', { text: 'through' })).toBe('through')
      expect(new Set(scene.proxy.lines)).toEqual(new Set(['CONNECT mcp.test:443']))
      bridge.endInput()
      expect(await bridge.over).toMatchObject({ code: 0 })

      const written = [...stage.files()].filter(([name]) => !given.has(name))
      expect(written.some(([name]) => name.includes('logs/'))).toBe(true)
      const everything = [bridge.stderr(), JSON.stringify(bridge.messages), ...written.flat()].join('\n')
      const encoded = Buffer.from(credentials).toString('base64')
      for (const form of [password, encodeURIComponent(password), encoded, 'somebody']) {
        expect(everything).not.toContain(form)
      }
    })(),
)
