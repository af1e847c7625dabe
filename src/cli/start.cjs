#!/usr/bin/env node
'use strict'

require('../node-version.cjs')
import('./index.ts')
