import { statSync } from 'node:fs'
import { generatedKid, parseSecretKeys, type KeySource } from '../../config/store-address.ts'
import type { SealedSessionStore } from '../../core/session/reseal.ts'
import { readSettingFile } from '../../config/document-file.ts'
import { keyFileEntries } from '../../store/secret-key-file.ts'
import { type Checks, fail, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'

export interface KeyFacts {
  kids: readonly string[]
  text: string
  /** Undefined: not in a file. */
  path: string | undefined
}

/** Reads a key ring whose file passed `fileFaults`: the server creates a missing one. */
export function readKeySource(source: KeySource): KeyFacts {
  switch (source.kind) {
    case 'memory':
      return {
        kids: [],
        text: 'Each start makes a new key, which is lost at the end with everything in memory.',
        path: undefined,
      }
    case 'ring': {
      const kids = source.keys.map(({ kid }) => kid)
      return { kids, text: describeRing(kids, 'DRAWBRIDGE_SECRET_KEYS'), path: undefined }
    }
    case 'file': {
      const { path } = source
      const file = readSettingFile(path)
      if (file.kind === 'unreadable')
        return { kids: [], text: `The first start makes a key in ${path}.`, path: undefined }
      const kids = parseSecretKeys(keyFileEntries(file.text).join(',')).map(({ kid }) => kid)
      return { kids, text: describeRing(kids, path), path }
    }
  }
}

/** Checks the keys, and that others cannot read them. */
export const keyChecks: Checks<KeyFacts> = {
  'key-ring': ({ text }) => ok(text),
  'key-file-mode': ({ path }) =>
    path !== undefined && isReadByAll(path)
      ? fail(
          `Everybody on this machine can read ${path}.`,
          `chmod 600 ${path}; for a mounted secret set defaultMode 0400.`,
        )
      : undefined,
}

/** Returns whether everybody on this machine can read a file. Not checked on Windows. */
export function isReadByAll(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o007) !== 0
}

function describeRing([first, ...others]: readonly string[], where: string): string {
  const older = others.map((kid) => `\`${kid}\``).join(', ')
  return `The key \`${first}\` in ${where} encrypts new sessions${older && `; ${older} can still decrypt`}.`
}

export async function checkSealingKeys(
  kids: readonly string[],
  store: Pick<SealedSessionStore, 'listSealingKeys'>,
): Promise<Outcome> {
  const used = await store.listSealingKeys()
  const missing = used.filter((kid) => !kids.includes(kid))
  if (missing.length > 0) {
    const isTrial = missing.every((kid) => kid === generatedKid)
    return fail(
      `The store holds sessions encrypted with ${missing.map((kid) => `\`${kid}\``).join(', ')}, which the key ring lacks: their clients get 503.`,
      isTrial
        ? 'They are from a trial in this store. Set DRAWBRIDGE_STORE to a new one: its clients then sign in again by themselves.'
        : 'Put it back at the end of the key ring; drawbridge-server keys list shows what it encrypted.',
    )
  }
  const old = used.filter((kid) => kid !== kids[0])
  if (old.length > 0) {
    const message = `Some stored sessions are still encrypted with older keys: ${old.join(', ')}.`
    return warn(message, 'drawbridge-server keys rotate')
  }
  return ok(
    used.length === 0
      ? 'No session is stored yet.'
      : `Every stored session is encrypted with the key \`${kids[0]}\`.`,
  )
}
