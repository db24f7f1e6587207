import { join } from 'node:path'
import { checkFolder, isMissing, notWritable, readPrivateFile } from './private-file.ts'

/** A folder that only its owner can look into, and its small text files. */
export interface PrivateFolder {
  readonly path: string
  /** Makes the folder, and removes what a killed process left half written. */
  prepare(): Promise<void>
  /** Undefined when there is no such file. Symbolic links are refused, looser modes tightened. */
  read(name: string): Promise<string | undefined>
  /** Whole or not at all, and there to stay when this resolves. */
  write(name: string, text: string): Promise<void>
  /** Whether there was such a file. */
  remove(name: string): Promise<boolean>
  names(): Promise<readonly string[]>
}

/**
 * Files below `root`, in its folder `name` if one is given. Everything is 0600 in 0700, and belongs to this user or to root.
 * Rejects with {@link CredentialError} `not_writable`; `warn` is told of modes that were too loose.
 */
export function createPrivateFolder(
  root: string,
  name: string | undefined,
  warn: (line: string) => void,
): PrivateFolder {
  const folders = name === undefined ? [root] : [root, join(root, name)]
  const path = name === undefined ? root : join(root, name)
  let isChecked = false
  let prepared: Promise<void> | undefined

  async function prepare(): Promise<void> {
    prepared ??= writing().then(({ makeFolders }) => makeFolders(folders, warn))
    try {
      await prepared
    } catch (error) {
      prepared = undefined
      throw notWritable(path, error)
    }
  }

  function check(): void {
    if (isChecked) return
    for (const folder of folders) checkFolder(folder, warn)
    isChecked = true
  }

  return {
    path,
    prepare,
    async read(name) {
      check()
      return readPrivateFile(join(path, name), warn)
    },
    async write(name, text) {
      await prepare()
      const { writePrivateFile } = await writing()
      try {
        await writePrivateFile(path, name, text)
      } catch (error) {
        if (!isMissing(error)) throw notWritable(path, error)
        // Somebody removed the folder since.
        prepared = undefined
        await prepare()
        await writePrivateFile(path, name, text).catch((again: unknown) => {
          throw notWritable(path, again)
        })
      }
    },
    async remove(name) {
      const { removePrivateFile } = await writing()
      return await removePrivateFile(path, name)
    },
    async names() {
      check()
      const { namesIn } = await writing()
      return await namesIn(path)
    },
  }
}

function writing(): Promise<typeof import('./private-file-write.ts')> {
  return import('./private-file-write.ts')
}
