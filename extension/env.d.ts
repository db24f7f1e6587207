interface ImportMetaEnv {
  /** Set at build time. */
  readonly FIREFOX: boolean
}

interface ImportMeta {
  readonly env: ImportMetaEnv
}

declare module '*.css'
