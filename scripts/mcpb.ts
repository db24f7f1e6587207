// Packs the built bridge as a desktop extension, bridge/dist/drawbridge.mcpb, for every system with desktop clients:
// npm fetches the native modules, which must match package-lock.json. With --here, fetches nothing and packs an
// extension for the current system, which is part of the file name. Run npm run build first.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { packMcpb } from './mcpb/mcpb-archive.ts'
import { desktopParts, fetchPackage, installedParts, lockedPackage } from './mcpb/native-part.ts'

const path = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url))

const { values } = parseArgs({ options: { here: { type: 'boolean', default: false } } })
const fetched = mkdtempSync(join(tmpdir(), 'drawbridge-mcpb-'))
try {
  const lockfile = readFileSync(path('package-lock.json'), 'utf8')
  const parts = values.here
    ? installedParts(path('node_modules'))
    : desktopParts.map((name) => fetchPackage(lockedPackage(lockfile, name), fetched))
  const { archive, platforms, systems } = packMcpb({
    bridge: path('bridge'),
    keychain: path('node_modules/keytar'),
    parts,
    licenseFile: path('LICENSE'),
  })
  const target = path(`bridge/dist/drawbridge${values.here ? `-${systems.join('-')}` : ''}.mcpb`)
  writeFileSync(target, archive)
  console.log(`${target}: ${(archive.length / 1024 / 1024).toFixed(1)} MB`)
  console.log(`For ${platforms.join(', ')}, with the keychain of ${systems.join(', ')}.`)
} finally {
  rmSync(fetched, { recursive: true, force: true })
}
