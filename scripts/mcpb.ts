// Packs the built bridge as a desktop extension: bridge/dist/drawbridge.mcpb. Run npm run build first.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { mcpbContent } from '../bridge/mcpb/mcpb-files.ts'
import { zipArchive } from '../bridge/mcpb/zip-archive.ts'

const path = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url))

const { entries, keychains } = mcpbContent({
  bridge: path('bridge'),
  modules: path('node_modules'),
  licenseFile: path('LICENSE'),
})
const archive = zipArchive(entries)
const target = path('bridge/dist/drawbridge.mcpb')
writeFileSync(target, archive)
console.log(`${target}: ${entries.length} files, ${(archive.length / 1024 / 1024).toFixed(1)} MB`)
console.log(
  `Keychain for ${keychains.length === 0 ? 'no platform' : keychains.join(', ')}; elsewhere a key file.`,
)
