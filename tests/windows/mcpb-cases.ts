import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { unzipSync } from 'fflate'
import { expect, it, onTestFinished } from 'vitest'
import { packMcpb } from '../../scripts/mcpb/mcpb-archive.ts'
import { root } from '../docs/command-block.ts'
import { startRemote } from '../support/remote/remote.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { withClient } from './installed.ts'
import type { Windows } from './wine.ts'

/** A native part for Windows that Windows does not load. */
function brokenPart(): string {
  const folder = temporaryFolder()
  const main = 'keyring.win32-x64-msvc.node'
  const manifest = { name: '@napi-rs/keyring-win32-x64-msvc', main, os: ['win32'], cpu: ['x64'] }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, main), 'no program')
  return folder
}

/** The cases of the extension for desktop clients. */
export function mcpbCases(windowsOf: () => Windows): void {
  it.each([
    ['in the Credential Manager', 'Erweiterung', false],
    ['in a file where the native part of the keychain does not load', 'Ohne Schlüsselbund', true],
  ])(
    'the extension for desktop clients starts in Windows, and keeps the key of a login %s',
    async (_, name, isBroken) => {
      const windows = windowsOf()
      const folder = `${windows.environment['APPDATA']}\\Claude\\Claude Extensions\\${name}`
      const home = `${windows.home}\\${name}`
      const { archive, platforms } = packMcpb({
        bridge: join(root, 'bridge'),
        keychain: join(root, 'node_modules/keytar'),
        parts: [isBroken ? brokenPart() : windows.peers.parts.keytar],
        licenseFile: join(root, 'LICENSE'),
      })
      expect(platforms).toEqual(['win32'])
      for (const [path, content] of Object.entries(unzipSync(archive))) {
        const file = windows.here(`${folder}\\${path}`)
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, content)
      }
      const manifest = readFileSync(windows.here(`${folder}\\manifest.json`), 'utf8')
      const { server } = JSON.parse(manifest) as {
        server: { mcp_config: { command: string; args: string[] } }
      }
      const { command, args } = server.mcp_config
      const remote = await startRemote({ auth: true })
      onTestFinished(() => remote.close())
      const answers: Record<string, string> = { server_url: remote.url, profile: 'default' }
      const words = args.map((argument) =>
        argument
          .replace('${__dirname}', folder)
          .replaceAll(/\$\{user_config\.(\w+)\}/g, (_whole, key: string) => answers[key] ?? ''),
      )
      const env = { DRAWBRIDGE_OPEN: 'off', DRAWBRIDGE_HOME: home }
      const start = async (): Promise<ReturnType<typeof withClient>> => {
        const bridge = withClient(windows.start(command, words, { env }))
        expect(await bridge.initialize()).toHaveProperty('result.serverInfo')
        return bridge
      }
      const first = await start()
      expect((await fetch(await first.link())).status).toBe(200)
      await expect.poll(() => first.tools()).toContain('echo')
      const text = 'sealed with a key in the keychain of this computer'
      expect(first.stderr().includes(text), first.stderr()).toBe(!isBroken)
      await first.close()
      expect(existsSync(windows.here(`${home}\\credentials\\key`))).toBe(isBroken)
      const second = await start()
      expect(await second.tools()).toContain('echo')
      expect(second.links()).toEqual([])
      await second.close()
    },
  )
}
