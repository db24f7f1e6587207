// Checks that everything that names a version or the owner agrees with the tag: node scripts/release-check.mjs 1.2.3
import { readFileSync } from 'node:fs'

const version = process.argv[2]
const json = (path) => JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'))
const manifests = [
  'package.json',
  'server/package.json',
  'bridge/package.json',
  'extension/package.json',
  'shared/package.json',
]
const server = json('server.json')
const dockerfile = readFileSync(new URL('../Dockerfile', import.meta.url), 'utf8')
const faults = [
  ...manifests
    .filter((path) => json(path).version !== version)
    .map((path) => `${path} has version ${json(path).version}`),
  ...[server, ...server.packages]
    .filter((each) => each.version !== version)
    .map(() => 'server.json has another version'),
  ...(server.name === json('bridge/package.json').mcpName
    ? []
    : ['server.json and mcpName of bridge/package.json differ']),
  ...(dockerfile.includes(`server.name="${server.name}"`)
    ? []
    : ['server.json and the label of the Dockerfile differ']),
  ...(dockerfile.includes(`ARG VERSION=${version}\n`) ? [] : ['the Dockerfile has another VERSION']),
  ...(server.name.includes('OWNER')
    ? ['server.json and mcpName of bridge/package.json still say OWNER']
    : []),
]
for (const fault of faults) console.error(`${fault}. Correct it, and tag again.`)
process.exitCode = faults.length > 0 ? 1 : 0
