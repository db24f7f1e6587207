import { statSync } from 'node:fs'
import { parseSecretKeys } from '../../config/store-address.ts'
import type { SealedSessionStore } from '../../core/session/reseal.ts'
import type { KeySource } from '../../config/store-address.ts'
import { readSettingFile } from '../../config/setting-file-text.ts'
import { keyFileEntries } from '../../store/secret-key-file.ts'
import { fail, type Finding, ok, warn } from '@drawbridge/shared/terminal/finding.ts'

const name = 'key-ring'

/**
 * Which keys there are, and whether others can read them. A key file must have passed `fileFaults`: one that is not there
 * is one that the server makes. Answers the names of the keys too.
 */
export function checkKeySource(source: KeySource): { findings: Finding[]; kids: readonly string[] } {
  switch (source.kind) {
    case 'memory':
      return { findings: [ok(name, 'A key is made at each start; it ends with what it sealed.')], kids: [] }
    case 'ring': {
      const kids = source.keys.map(({ kid }) => kid)
      return { findings: [ok(name, describeRing(kids, 'DRAWBRIDGE_SECRET_KEYS'))], kids }
    }
    case 'file':
      return checkKeyFile(source)
  }
}

function describeRing(kids: readonly string[], where: string): string {
  const [first, ...others] = kids
  const opening =
    others.length === 0 ? '' : `, ${others.join(', ')} ${others.length === 1 ? 'opens' : 'open'} too`
  return `${first} of ${where} seals${opening}.`
}

function checkKeyFile(source: KeySource & { kind: 'file' }): {
  findings: Finding[]
  kids: readonly string[]
} {
  const { path } = source
  const file = readSettingFile(path)
  if (file.kind === 'unreadable') {
    return { findings: [ok(name, `The first start makes a key in ${path}.`)], kids: [] }
  }
  const kids = parseSecretKeys(keyFileEntries(file.text).join(',')).map(({ kid }) => kid)
  return { findings: [ok(name, describeRing(kids, path)), ...checkMode(path)], kids }
}

function checkMode(path: string): Finding[] {
  // Windows has other means, which are not looked at.
  if (process.platform === 'win32') return []
  const { mode } = statSync(path)
  if ((mode & 0o007) === 0) return []
  return [
    fail(
      'key-file-mode',
      `Everybody on this machine can read ${path}.`,
      `chmod 600 ${path}; for a mounted secret set defaultMode 0400.`,
    ),
  ]
}

/** Whether every key that something stored is sealed with is in the ring. */
export async function checkSealingKeys(
  kids: readonly string[],
  store: Pick<SealedSessionStore, 'listSealingKeys'>,
): Promise<Finding> {
  const used = await store.listSealingKeys()
  const missing = used.filter((kid) => !kids.includes(kid))
  if (missing.length > 0) {
    return fail(
      'sealing-keys',
      `The store holds what ${missing.join(', ')} sealed, and the ring lacks ${missing.length === 1 ? 'that key' : 'those keys'}: these connections answer 503.`,
      'Put the key back at the end of the ring; drawbridge-server keys list shows what it sealed.',
    )
  }
  const old = used.filter((kid) => kid !== kids[0])
  if (old.length > 0) {
    return warn(
      'sealing-keys',
      `${old.join(', ')} no longer ${old.length === 1 ? 'seals' : 'seal'}, and something stored still needs ${old.length === 1 ? 'it' : 'them'}.`,
      'drawbridge-server keys rotate --reseal-only',
    )
  }
  return ok(
    'sealing-keys',
    used.length === 0 ? 'Nothing is sealed yet.' : `All that is sealed is sealed with ${kids[0]}.`,
  )
}
