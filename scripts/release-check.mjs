// Checks that everything that names a version or the owner agrees with the tag: node scripts/release-check.mjs 1.2.3
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const version = process.argv[2]
const read = (path) => readFileSync(path, 'utf8')
const json = (path) => JSON.parse(read(path))
const packages = ['bridge', 'server']
const manifests = ['package.json']
manifests.push(...[...packages, 'extension', 'shared'].map((folder) => `${folder}/package.json`))
const server = json('server.json')
const dockerfile = read('Dockerfile')
const repository = `git+https://github.com/${server.name.replace('io.github.', '')}.git`
const owned = ['server.json', 'bridge/package.json', 'server/package.json', 'Dockerfile']
owned.push('.github/ISSUE_TEMPLATE/config.yml')
const pages = ['README.md', ...packages.map((folder) => `${folder}/README.md`)]
for (const name of readdirSync('docs', { recursive: true, encoding: 'utf8' })) {
  if (name.endsWith('.md') && name !== 'releasing.md') pages.push(`docs/${name}`)
}

const checks = [
  ...manifests.map((path) => [json(path).version === version, `${path} has version ${json(path).version}`]),
  ...manifests
    .filter((path) => json(path).devDependencies?.['@drawbridge/shared'] !== undefined)
    .map((path) => [
      json(path).devDependencies['@drawbridge/shared'] === version,
      `${path} needs another version of @drawbridge/shared`,
    ]),
  ...[server, ...server.packages].map((each) => [
    each.version === version,
    'server.json has another version',
  ]),
  [dockerfile.includes(`ARG VERSION=${version}\n`), 'the Dockerfile has another VERSION'],
  [read('CHANGELOG.md').includes(`## ${version}`), `CHANGELOG.md has no section "## ${version}"`],
  [
    server.name === json('bridge/package.json').mcpName,
    'server.json and mcpName of bridge/package.json differ',
  ],
  [dockerfile.includes(`server.name="${server.name}"`), 'server.json and the label of the Dockerfile differ'],
  // npm refuses the provenance of a package that names another repository, or none.
  ...packages.map((folder) => [
    json(`${folder}/package.json`).repository?.url === repository,
    `server.json and the repository of ${folder}/package.json differ`,
  ]),
  ...owned.map((path) => [!read(path).includes('OWNER/drawbridge'), `${path} still says OWNER`]),
  [/isPublished = true\b/.test(read('shared/published.ts')), 'shared/published.ts does not say isPublished'],
  ...pages.map((path) => [
    !/not on npm\s+yet|nothing is on npm/i.test(read(path)),
    `${path} says that the packages are not on npm`,
  ]),
]
const faults = checks.filter(([holds]) => !holds).map(([, fault]) => fault)
for (const fault of faults) console.error(`${fault}. Correct it, and tag again.`)
process.exitCode = faults.length > 0 ? 1 : 0
