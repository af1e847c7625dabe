#!/usr/bin/env node
'use strict'

require('../node-version.cjs')
// Keeps V8's young generation small. In a large one the short-lived buffers of a backup take 200 MB before they are
// garbage-collected.
require('node:v8').setFlagsFromString('--semi-space-growth-factor=1')
import('./index.ts')
