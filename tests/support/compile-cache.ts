import { fileURLToPath } from 'node:url'

/** For the environment of programs that tests start: they need less time when their code is in a cache, which is one for all. */
export const compileCache: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)),
}
