import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { unzipSync } from 'fflate'
import { expect, it, onTestFinished } from 'vitest'
import { mcpbContent } from '../../scripts/mcpb/mcpb-files.ts'
import { zipArchive } from '../../scripts/mcpb/zip-archive.ts'
import { root } from '../docs/command-block.ts'
import { startRemote } from '../support/remote/remote.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { withClient } from './installed.ts'
import type { Windows } from './wine.ts'

/** A native part for Windows that Windows does not load, like the real one in Wine. */
function brokenPart(): string {
  const folder = temporaryFolder()
  const main = 'keyring.win32-x64-msvc.node'
  const manifest = { name: '@napi-rs/keyring-win32-x64-msvc', main, os: ['win32'], cpu: ['x64'] }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, main), 'no program')
  return folder
}

/** The case of the extension for desktop clients. */
export function mcpbCases(windowsOf: () => Windows): void {
  it('the extension for desktop clients starts in Windows, and keeps a login although the keychain does not load', async () => {
    const windows = windowsOf()
    const folder = `${windows.environment['APPDATA']}\\Claude\\Claude Extensions\\drawbridge`
    const { entries, platforms } = mcpbContent({
      bridge: join(root, 'bridge'),
      keychain: join(root, 'node_modules/keytar'),
      parts: [brokenPart()],
      licenseFile: join(root, 'LICENSE'),
    })
    expect(platforms).toEqual(['win32'])
    for (const [name, content] of Object.entries(unzipSync(zipArchive(entries)))) {
      const path = windows.here(`${folder}\\${name}`)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
    }
    const manifest = readFileSync(windows.here(`${folder}\\manifest.json`), 'utf8')
    const { server } = JSON.parse(manifest) as { server: { mcp_config: { command: string; args: string[] } } }
    const { command, args } = server.mcp_config
    const remote = await startRemote({ auth: true })
    onTestFinished(() => remote.close())
    const answers: Record<string, string> = { server_url: remote.url, profile: 'default' }
    const words = args.map((argument) =>
      argument
        .replace('${__dirname}', folder)
        .replaceAll(/\$\{user_config\.(\w+)\}/g, (_, key: string) => answers[key] ?? ''),
    )
    const start = async (): Promise<ReturnType<typeof withClient>> => {
      const env = { DRAWBRIDGE_OPEN: 'off', DRAWBRIDGE_HOME: `${windows.home}\\Erweiterung` }
      const bridge = withClient(windows.start(command, words, { env }))
      expect(await bridge.initialize()).toHaveProperty('result.serverInfo')
      return bridge
    }
    const first = await start()
    expect((await fetch(await first.link())).status).toBe(200)
    await expect.poll(() => first.tools()).toContain('echo')
    expect(first.stderr()).toMatch(/keychain/i)
    await first.close()
    const second = await start()
    expect(await second.tools()).toContain('echo')
    expect(second.links()).toEqual([])
    await second.close()
  })
}
