/* engine 12, frozen by test/compat/freeze.ts */
var Gi=Object.defineProperty;var s=(t,e)=>Gi(t,"name",{value:e,configurable:!0});var xn=(t,e)=>{for(var n in e)Gi(t,n,{get:e[n],enumerable:!0})};var Ss={};xn(Ss,{API_KEY_BYTES:()=>to,ARM_OWNERS:()=>is,ATTEMPT_MOVES:()=>ns,BUILT_IN_ROLES:()=>$m,CALL_KINDS:()=>jt,CONSENT_MOVES:()=>rs,DEFAULT_QUEUE:()=>Ut,DEFAULT_QUEUES:()=>mm,DELIVERY_CAUSES:()=>vo,DELIVERY_MOVES:()=>ts,DELIVERY_OUTCOMES:()=>Io,ERROR_CODES:()=>am,EgressEvent:()=>gm,FAULT_POINTS:()=>hm,GhoulsError:()=>k,JobReportShape:()=>Wt,LONGEST_RESIDENT_DELAY_MS:()=>dt,MAX_CHUNK_BYTES:()=>Dn,MAX_DELAY_SECONDS:()=>me,MAX_DEPTH:()=>Kt,MAX_FAILURE_MESSAGE:()=>In,MAX_FAILURE_STACK:()=>Ji,MAX_JOURNAL_BYTES:()=>je,MAX_MISSES:()=>gt,MAX_SUBMISSIONS:()=>Zk,MAX_VALUE_BYTES:()=>at,MOVES:()=>Vt,NonRetryableError:()=>ke,NotDoneError:()=>ht,ON_EXPIRY:()=>Ke,OPEN_DELIVERY:()=>Ao,PARENT_CLOSE:()=>Nn,PERMISSIONS:()=>Cn,PUBLICATIONS_BEFORE_ATTENTION:()=>bo,PUBLICATION_DELAYS:()=>Rn,PUBLISHER_GRACE_SECONDS:()=>fe,QUEUE_NAME:()=>Ft,QueueSettings:()=>lm,ROLE_NAME:()=>Om,RUN_FAILURE_CODES:()=>xo,RUN_MOVES:()=>es,RandomStream:()=>Mt,SKIP_REASONS:()=>zm,StepFailedError:()=>st,TimingSettings:()=>cm,UnserializableError:()=>U,VERDICTS:()=>On,afterExpiry:()=>Ro,callKey:()=>P,callerOf:()=>qm,canMove:()=>os,canonicalText:()=>ne,closingsOf:()=>$o,decideSkip:()=>So,delayAfterFailure:()=>Lm,delayAfterPublication:()=>Tm,describeCall:()=>ce,describeFailure:()=>E,diagram:()=>jm,durationMs:()=>G,formatMessage:()=>Dm,formatWake:()=>Rm,idempotencyKeyOf:()=>it,identityCodec:()=>_o,isDuration:()=>Se,isPermission:()=>ho,isRunId:()=>W,isSameDigest:()=>rt,isTerminalRun:()=>xe,judgeAnswer:()=>ot,judgeDecision:()=>Do,mintApiKey:()=>om,namesRole:()=>Qt,namesSubject:()=>qn,nextAct:()=>ro,nextLookSeconds:()=>En,noFaults:()=>io,noHint:()=>Nm,noLiveStream:()=>Bt,notDone:()=>dm,parkedAs:()=>Co,parseApiKey:()=>no,parseJson:()=>fo,parseMessage:()=>Sn,parseWake:()=>go,permissionsOf:()=>yo,principalIssues:()=>Pm,queueUrlVariable:()=>fm,readAuthorityAnswer:()=>so,readGrantAnswer:()=>ao,readJobAnswer:()=>vn,readJobReport:()=>bm,readSourceAnswer:()=>Eo,resolveBackoff:()=>Ht,retryDelayMs:()=>ze,serialize:()=>B,sha256:()=>D,sourcesOf:()=>Ce,sqlStates:()=>I,statesOf:()=>T,terminalStatesOf:()=>be,wire:()=>Be});import{timingSafeEqual as tm}from"node:crypto";import{crc32 as nm}from"node:zlib";import{createHash as em}from"node:crypto";function D(t){return em("sha256").update(t,"utf8").digest("hex")}s(D,"sha256");var rm=/^(ghouls_([0-9a-f]{16})_[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/,eo=8,to=eo+32;function om(t){if(t.length!==to)throw new TypeError(`a key is made of ${to} random bytes`);let e=Buffer.from(t.subarray(0,eo)).toString("hex"),n=Wi(BigInt(`0x${Buffer.from(t.subarray(eo)).toString("hex")}`),43),r=`ghouls_${e}_${n}`,o=`${r}${Ui(r)}`;return{keyId:e,text:o,digest:Fi(o)}}s(om,"mintApiKey");function no(t){let[,e,n,r]=rm.exec(t)??[];if(!(e===void 0||n===void 0||Ui(e)!==r))return{keyId:n,digest:Fi(t)}}s(no,"parseApiKey");function Fi(t){return D(t)}s(Fi,"digestOfKey");function rt(t,e){let[n,r]=[Buffer.from(t),Buffer.from(e)];return n.length===r.length&&tm(n,r)}s(rt,"isSameDigest");function Ui(t){return Wi(BigInt(nm(t)),6)}s(Ui,"checksumOf");var im="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";function Wi(t,e){let n="";for(let r=t;n.length<e;r/=62n)n=`${im[Number(r%62n)]}${n}`;return n}s(Wi,"base62");var gt=3,Zk=5;function ro({status:t,traits:e,demand:n,unsent:r,acknowledged:o}){return t==="DEFINED"||r&&!o?n==="now"?"submit":n==="later"?"wait":"drop":n==="no"&&e.cancel!=="none"?"cancel":e.lookup==="none"?"wait":"lookUp"}s(ro,"nextAct");function ot(t,e){switch(e.state){case"succeeded":return{kind:"move",to:"SUCCEEDED",result:e.result};case"failed":return{kind:"move",to:"FAILED",error:e.error};case"accepted":return Ki(t,"SUBMITTED");case"running":return Ki(t,"RUNNING");case"cancelled":return t.late||t.traits.cancel==="final"?{kind:"move",to:"CANCELLED"}:{kind:"keep",missed:!1,why:"it is cancelled, but a submission may be on its way"};case"absent":return sm(t);case"unsent":return{kind:"keep",missed:!0,why:e.why};case"unknown":return Bi(t,e.why)}}s(ot,"judgeAnswer");function Ki(t,e){let{status:n,demand:r}=t,o=n==="RUNNING"||n===e;return r==="no"&&(o||n==="UNCERTAIN")?Bi(t,"it is to be cancelled, and the service says that it has it still"):o?{kind:"keep",missed:!1,why:"the service has it"}:{kind:"move",to:e}}s(Ki,"judgeLife");function sm(t){let{traits:e,late:n,acknowledged:r,demand:o,submissions:i}=t;return r?Lt(t,"the service had it, and does not find it any more"):n?e.lookup!=="authoritative"?Lt(t,"the service does not find it, which proves nothing"):o==="no"?{kind:"move",to:"CANCELLED"}:e.submit!=="idempotent"?Lt(t,"it was not accepted, and may not be submitted twice"):i>=5?Lt(t,`it was submitted ${i} times, and is not found`):o==="now"?{kind:"resubmit"}:{kind:"keep",missed:!1,why:"its run is under way"}:{kind:"keep",missed:!1,why:"it was asked about while a submission may be on its way"}}s(sm,"judgeAbsence");function Bi(t,e){return t.misses+1<3?{kind:"keep",missed:!0,why:e}:Lt(t,e)}s(Bi,"missed");function Lt({status:t},e){return t==="UNCERTAIN"?{kind:"keep",missed:!0,why:e}:{kind:"move",to:"UNCERTAIN",why:e}}s(Lt,"uncertain");function En(t,e){return Math.min(Math.max(t,3600),t*2**Math.min(e,4))}s(En,"nextLookSeconds");import{createHash as Hi}from"node:crypto";var jt=["step","transaction","consent","delegate","child","sleep","signal","reserve","release"];function P(t){return JSON.stringify([t.epoch,t.scope,t.kind,t.name,t.nth])}s(P,"callKey");function ce(t){let e=t.nth===1?"":` (use ${t.nth})`,n=t.scope===""?"":` in ${t.scope}`;return`${t.kind} "${t.name}"${e}${n}`}s(ce,"describeCall");function it(t,e){return Hi("sha256").update(`ghouls-step-1
${t}
${P(e)}`).digest("hex")}s(it,"idempotencyKeyOf");var Mt=class{static{s(this,"RandomStream")}#e;#t=0;constructor(e,n,r){this.#e=`ghouls-random-1
${JSON.stringify([e,n,r])}`}#n(){return this.#t+=1,Hi("sha256").update(`${this.#e}
${this.#t}`).digest()}random(){return Number(this.#n().readBigUInt64BE()>>11n)/2**53}uuid(){let e=this.#n().subarray(0,16);e[6]=e[6]&15|64,e[8]=e[8]&63|128;let n=e.toString("hex");return`${n.slice(0,8)}-${n.slice(8,12)}-${n.slice(12,16)}-${n.slice(16,20)}-${n.slice(20)}`}};var am=["invalid_request","malformed_json","unknown_workflow","unknown_queue","input_invalid","too_large","idempotency_conflict","admission_busy","not_found","unauthenticated","forbidden","hold_ended","run_ended","consent_closed","consent_changed","not_a_decider","too_many_signals","attempt_settled","attempt_under_way","child_open","wrong_transaction","configuration_invalid","schema_outdated","integrity_fault","ledger_unavailable","outcome_unknown","queue_unavailable","codec_unavailable","internal"],k=class extends Error{static{s(this,"GhoulsError")}code;fix;issues;retryAfterSeconds;constructor(e,n,r={}){super(n,r.cause===void 0?void 0:{cause:r.cause}),this.name="GhoulsError",this.code=e,this.fix=r.fix,this.issues=r.issues,this.retryAfterSeconds=r.retryAfterSeconds}},ke=class extends Error{static{s(this,"NonRetryableError")}constructor(e,n){super(e,n),this.name="NonRetryableError"}},ht=class extends Error{static{s(this,"NotDoneError")}constructor(e){super(e instanceof Error?e.message:String(e),{cause:e}),this.name="NotDoneError"}};function dm(t){return new ht(t)}s(dm,"notDone");var st=class extends Error{static{s(this,"StepFailedError")}step;tries;failure;constructor(e,n,r){super(`step "${e}" failed after ${n===1?"1 try":`${n} tries`}: ${r.message}`),this.name="StepFailedError",this.step=e,this.tries=n,this.failure=r}},In=2e3,Ji=6e3;function E(t){try{if(t instanceof Error){let n=typeof t.stack=="string"?zt(t.stack,Ji):void 0;return{name:zt(String(t.name),200),message:zt(String(t.message),In),...n===void 0?{}:{stack:n}}}if(typeof t=="string")return{name:"Error",message:zt(`a string was thrown: ${t}`,In)};if(t==null)return{name:"Error",message:`${String(t)} was thrown, not an Error`};let e=JSON.stringify(t,(n,r)=>typeof r=="bigint"?String(r):r);return{name:"Error",message:zt(`a value that is no Error was thrown: ${e??typeof t}`,In)}}catch{return{name:"Error",message:`a value of type ${typeof t} that cannot be described was thrown`}}}s(E,"describeFailure");function zt(t,e){return t.length<=e?t.toWellFormed():`${t.slice(0,e).toWellFormed()}\u2026 (${t.length-e} more characters)`}s(zt,"bounded");var oo={ms:1,s:1e3,m:6e4,h:36e5,d:864e5},um=3650*oo.d;function Se(t){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(t);return e===null?!1:Number(e[1])*oo[e[2]]<=um}s(Se,"isDuration");function G(t){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(t);if(e===null||!Se(t))throw new k("configuration_invalid",`"${String(t).slice(0,40)}" is not a duration`,{fix:'Write a whole number and a unit, such as "500ms", "90s", "15m", "2h" or "3d" (at most ten years).'});return Number(e[1])*oo[e[2]]}s(G,"durationMs");import*as z from"zod";import*as Me from"zod";var Gt=Me.string().refine(t=>Se(t),'write a whole number and a unit, such as "90s" or "15m"'),Ft=/^[a-z][a-z0-9-]{0,31}$/,lm=Me.strictObject({batchSize:Me.int().min(1).max(10).default(5),concurrency:Me.int().min(1).max(1e3).default(2),functionTimeout:Gt.refine(t=>!Se(t)||G(t)>=5e3&&G(t)<=432e5,'from "5s" to "12h"').default("15m")}),cm=Me.strictObject({lease:Gt.default("120s"),beat:Gt.default("30s"),actsMargin:Gt.default("60s"),maxLosses:Me.int().min(1).max(100).default(3),deployOverlap:Gt.default("1h")}),mm={runs:{batchSize:5,concurrency:2},rites:{batchSize:1,concurrency:2}},Ut="runs";function fm(t){return`GHOULS_QUEUE_${t.toUpperCase().replaceAll("-","_")}_URL`}s(fm,"queueUrlVariable");var Vi={tenantId:z.string(),runId:z.string(),attemptId:z.string(),idempotencyKey:z.string()},pm=z.discriminatedUnion("kind",[z.strictObject({kind:z.literal("submit"),job:z.strictObject({...Vi,requestText:z.string(),callback:z.strictObject({url:z.string(),token:z.string()}).nullable()})}),z.strictObject({kind:z.enum(["lookUp","cancel"]),job:z.strictObject(Vi)})]),gm=z.strictObject({service:z.string().regex(Ft),question:pm,timeoutMs:z.int().min(1),untilMs:z.int()});var hm=["ledger.before-statement","ledger.after-statement","ledger.before-commit","ledger.after-commit","secrets.before-read","secrets.after-read","queue.before-publish","queue.after-publish","queue.before-receive","queue.after-receive","queue.before-visibility","queue.after-visibility","queue.before-delete","queue.after-delete","admission.after-commit","admission.after-publish","worker.after-claim","holdings.before-ask","holdings.after-ask","holdings.before-release","holdings.after-release","worker.before-beat","worker.before-intent","worker.after-intent","worker.before-step","worker.after-step","worker.before-transaction","worker.after-transaction","worker.after-journal","worker.before-child","worker.after-child","worker.before-reserve","worker.after-reserve","worker.before-release","worker.after-release","worker.before-tell-parent","worker.after-tell-parent","worker.before-handover","worker.before-adopt","worker.before-park","worker.after-park","worker.before-restart","worker.after-restart","worker.after-wake","timers.after-select","timers.after-resume","deadlines.after-select","deadlines.after-failure","consents.after-commit","consents.after-select","consents.after-look","signals.after-commit","delegate.before-claim","delegate.after-claim","delegate.after-submit","delegate.after-answer","delegates.after-select","delegates.after-look","callbacks.after-commit","worker.after-handover","worker.before-settle","worker.after-settle","worker.before-replay-check","worker.after-replay-check","relay.after-select","relay.after-publish","reanimation.after-select","reanimation.after-judgement","containment.after-select","containment.after-look","containment.after-cancel","children.after-select","children.after-tell","holds.after-select","holds.after-expiry","egress.before-ask","egress.after-ask","hint.before-read","hint.after-read","hint.before-lower","hint.after-lower","hint.before-raise","hint.after-raise"],io=s(()=>{},"noFaults");import*as K from"zod";var Qi=K.string().transform(t=>t.toWellFormed().slice(0,1e3)),ym=K.discriminatedUnion("outcome",[K.object({outcome:K.literal("valid")}),K.object({outcome:K.literal("revoked"),reason:Qi})]),_m=K.discriminatedUnion("outcome",[K.object({outcome:K.literal("granted"),value:K.unknown().optional(),expiresAt:K.date().optional(),release:K.custom(t=>typeof t=="function","must be a function").optional()}),K.object({outcome:K.literal("refused"),reason:Qi})]);function so(t){let e=ym.safeParse(t);if(e.success)return e.data;throw new Error(`that is no answer of an authority check: ${Yi(e.error)}`)}s(so,"readAuthorityAnswer");function ao(t){let e=_m.safeParse(t);if(!e.success)throw new Error(`that is no answer of a grant provider: ${Yi(e.error)}`);if(e.data.outcome==="refused")return e.data;let{value:n,expiresAt:r,release:o}=e.data;return{outcome:"granted",value:n,...r===void 0?{}:{expiresAt:r},...o===void 0?{}:{release:s(()=>o.call(t),"release")}}}s(ao,"readGrantAnswer");function Yi(t){let[e]=t.issues;return e===void 0?"":`${e.path.map(String).join(".")||"it"}: ${e.message}`}s(Yi,"issueOf");import*as F from"zod";var wm=2e3,uo=s(t=>F.object({state:F.literal(t)}),"simple"),Wt=F.discriminatedUnion("state",[uo("accepted"),uo("running"),uo("cancelled"),F.object({state:F.literal("succeeded"),result:F.unknown().optional()}),F.object({state:F.literal("failed"),error:F.object({code:F.string(),message:F.string()})})]),km=F.discriminatedUnion("state",[...Wt.options,F.object({state:F.literal("absent")}),F.object({state:F.enum(["unsent","unknown"]),why:F.string().transform(t=>t.slice(0,wm))})]);function bm(t){return Wt.safeParse(t).data}s(bm,"readJobReport");function vn(t){let{data:e,error:n}=km.safeParse(t);if(e!==void 0)return e;let[r]=n.issues,o=r?.path.join(".")??"";return{state:"unknown",why:`the adapter answered what is no answer: ${o===""?"":`${o}: `}${r?.message}`}}s(vn,"readJobAnswer");var Kt=100,xm=new Set(["__proto__","constructor","prototype"]),mo=JSON,Em=JSON.parse;function fo(t){if(Im(t)>Kt)throw new k("malformed_json",`the document is nested more than ${Kt} levels deep`,{fix:"Flatten the document, or send it as one string."});let e;try{e=Em(t,(r,o,i)=>typeof o=="number"?mo.rawJSON(i.source??String(o)):o)}catch(r){throw new k("malformed_json",`the document is not valid JSON: ${r.message.slice(0,200)}`,{fix:"Send one JSON document in UTF-8."})}let n=[];if(lo(e,"",n),n.length>0)throw new k("invalid_request","the document holds values that cannot be kept unchanged",{issues:n,fix:"Send large numbers as strings, and text without NUL and lone surrogates."});return{value:JSON.parse(t),canonical:ne(e),member:s(r=>{if(!(typeof e!="object"||e===null||!Object.hasOwn(e,r)))return ne(e[r])},"member")}}s(fo,"parseJson");function Im(t){let e=0,n=0,r=!1;for(let o=0;o<t.length;o+=1){let i=t.charCodeAt(o);r?i===92?o+=1:i===34&&(r=!1):i===34?r=!0:i===91||i===123?n=Math.max(n,e+=1):(i===93||i===125)&&(e-=1)}return n}s(Im,"nestingOf");function lo(t,e,n){if(!(n.length>=20)){if(typeof t=="string"){let r=Xi(t);r!==void 0&&n.push({path:e,message:r});return}if(!(typeof t!="object"||t===null)){if(mo.isRawJSON(t)){let r=Number(JSON.stringify(t));Math.abs(r)>Number.MAX_SAFE_INTEGER&&n.push({path:e,message:"a number beyond 2^53 - 1 would not come back unchanged; send it as a string"});return}if(Array.isArray(t)){t.forEach((r,o)=>lo(r,`${e}/${o}`,n));return}for(let[r,o]of Object.entries(t)){let i=`${e}/${r.slice(0,100).toWellFormed()}`;xm.has(r)&&n.push({path:i,message:"this key is not allowed"});let a=Xi(r);a!==void 0&&n.push({path:i,message:`the key: ${a}`}),lo(o,i,n)}}}}s(lo,"inspect");function Xi(t){if(t.includes("\0"))return"text with a NUL character is not taken";if(!t.isWellFormed())return"text with a lone surrogate is not taken"}s(Xi,"textProblem");function ne(t){return JSON.stringify(co(t))}s(ne,"canonicalText");function co(t){if(typeof t!="object"||t===null||mo.isRawJSON(t))return t;if(Array.isArray(t))return t.map(co);let e=Object.entries(t).toSorted(([n],[r])=>n<r?-1:1);return Object.fromEntries(e.map(([n,r])=>[n,co(r)]))}s(co,"sorted");var U=class extends Error{static{s(this,"UnserializableError")}reason;constructor(e,n){super(n),this.name="UnserializableError",this.reason=e}},at=1048576,je=32*1048576;function B(t,e=at){if(t===void 0)return;let n;try{n=JSON.stringify(An(t,"",[]))}catch(o){throw o instanceof U?o:new U("unserializable",`it cannot be turned into JSON: ${E(o).message.slice(0,500)}`)}let r=Buffer.byteLength(n);if(r>e)throw new U("too_large",`it is ${r} bytes of JSON, the limit is ${e}`);return n}s(B,"serialize");function An(t,e,n){let r=e===""?"the value":`the value at ${e}`,o=s(d=>new U("unserializable",`${r} is ${d}, which JSON cannot hold`),"refuse");switch(typeof t){case"string":case"boolean":return t;case"number":if(!Number.isFinite(t))throw o(String(t));return t;case"undefined":case"bigint":case"symbol":case"function":throw o(`a value of type ${typeof t}`);case"object":}if(t===null)return null;if(n.includes(t))throw o("a cycle");if(n.length>Kt)throw o(`nested more than ${Kt} levels deep`);let i=[...n,t];if(t instanceof Date&&Number.isNaN(t.getTime()))throw o("an invalid Date");if("toJSON"in t&&typeof t.toJSON=="function"){let d=t.toJSON("");if(d===t)throw o("a cycle of toJSON");return An(d,e,i)}if(Array.isArray(t))return Array.from(t,(d,u)=>An(d,`${e}/${u}`,i));if(!vm(t))throw o(`a ${t.constructor?.name??"class instance"}`);let a={};for(let[d,u]of Object.entries(t))u!==void 0&&Object.defineProperty(a,d,{value:An(u,`${e}/${d.slice(0,100)}`,i),enumerable:!0,configurable:!0,writable:!0});return a}s(An,"plain");function vm(t){let e=Object.getPrototypeOf(t);return e===null||e===Object.prototype?!0:Object.getPrototypeOf(e)===null&&t.constructor?.name==="Object"}s(vm,"isPlainObject");var po="[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",Am=new RegExp(`^${po}$`),Sm=new RegExp(`^run:(${po}):([1-9]\\d{0,8})$`),Cm=new RegExp(`^wake:(${po})$`);function W(t){return Am.test(t)}s(W,"isRunId");function Dm(t){return`run:${t.runId}:${t.enqueueSeq}`}s(Dm,"formatMessage");function Sn(t){let e=Sm.exec(t);if(e!==null)return{runId:e[1],enqueueSeq:Number(e[2])}}s(Sn,"parseMessage");function Rm(t){return`wake:${t}`}s(Rm,"formatWake");function go(t){return Cm.exec(t)?.[1]}s(go,"parseWake");var Cn=["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","signals:send","consents:read","consents:decide","attempts:read","attempts:resolve","workflows:read"],$m={admin:Cn,operator:["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","signals:send","consents:read","attempts:read","attempts:resolve","workflows:read"],submitter:["runs:submit","runs:read","runs:release","runs:cancel","signals:send","consents:read","attempts:read","workflows:read"],decider:["runs:read","consents:read","consents:decide","attempts:read","workflows:read"],viewer:["runs:read","consents:read","attempts:read","workflows:read"]},Om=/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;function ho(t){return Cn.includes(t)}s(ho,"isPermission");function yo(t,e){let n=t.roles.flatMap(o=>Object.hasOwn(e,o)?e[o]??[]:[]),r=new Set([...n,...t.permissions??[]]);return Cn.filter(o=>r.has(o))}s(yo,"permissionsOf");var _o={encode:s(t=>Promise.resolve(t),"encode"),decode:s(t=>Promise.resolve(t),"decode")},me=900,Nm={keeps:!1,read:s(()=>Promise.resolve(void 0),"read"),lower:s(()=>Promise.resolve(),"lower"),raise:s(()=>Promise.resolve(!1),"raise")},Dn=16384,Bt={write:s(()=>{},"write"),end:s(()=>{},"end")};function qm(t,e){let{tenantId:n,subject:r}=t;return{tenantId:n,subject:r,roles:t.roles,permissions:yo(t,e)}}s(qm,"callerOf");function Pm(t){let e=typeof t=="object"&&t!==null?t:{},n=s((r,o)=>({path:`/principal/${r}`,message:o}),"issue");return[...["tenantId","subject"].filter(r=>typeof e[r]!="string"||e[r]==="").map(r=>n(r,"is missing")),...Zi(e.roles)?[]:[n("roles","is no list of names")],...e.permissions===void 0||Zi(e.permissions)?[]:[n("permissions","is no list of names")]]}s(Pm,"principalIssues");function Zi(t){return Array.isArray(t)&&t.every(e=>typeof e=="string")}s(Zi,"isTexts");var fe=15,wo=[60,120,300,600,1800,3600],ko=[5,10,30,60,120,300],bo=5;function Tm(t){return wo[Math.min(Math.max(t,1),wo.length)-1]}s(Tm,"delayAfterPublication");function Lm(t){return ko[Math.min(Math.max(t,1),ko.length)-1]}s(Lm,"delayAfterFailure");var Rn={afterSuccess:wo,afterFailure:ko};var dt=1e4;function Ht(t={}){let e=G(t.initial??"200ms"),n={initialMs:e,factor:t.factor??2,maxMs:t.max===void 0?Math.max(dt,e):G(t.max)};if(!(n.factor>=1&&n.factor<=100))throw new k("configuration_invalid",`a backoff factor of ${String(t.factor)} is not taken`,{fix:"Give a factor from 1 to 100."});return n}s(Ht,"resolveBackoff");function ze(t,e,n){let r=Math.min(t.maxMs,t.initialMs*t.factor**(e-2));return Math.round(r/2+r/2*n)}s(ze,"retryDelayMs");var xo=["workflow_failed","step_failed","workflow_changed","journal_mismatch","duplicate_call","invalid_call","input_invalid","output_invalid","unserializable","too_large","deadline","out_of_time","no_progress","ghoul_lost","effect_unknown","hold_expired","authority_revoked","grant_refused"];import*as pe from"zod";var Mm=pe.discriminatedUnion("outcome",[pe.object({outcome:pe.literal("pending")}),pe.object({outcome:pe.enum(["grant","deny"]),by:pe.string().min(1).max(200),comment:pe.string().max(4e3).optional()})]);function Eo(t){let{data:e,error:n}=Mm.safeParse(t);if(n!==void 0){let[a]=n.issues,d=a?.path.join(".")??"";throw new Error(`it answered what is no decision: ${d===""?"":`${d}: `}${a?.message}`)}if(e.outcome==="pending")return{outcome:e.outcome};let{outcome:r,by:o,comment:i}=e;return{outcome:r,by:o,...i===void 0?{}:{comment:i}}}s(Eo,"readSourceAnswer");var Jt=["QUEUED","FAILING","CANCELLING"],es={QUEUED:["RUNNING","FAILING","CANCELLING"],RUNNING:["AWAITING_HARDWARE","AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER","QUEUED","COMPLETING","DONE","FAILING","FAILED","CANCELLING"],AWAITING_HARDWARE:["RUNNING","QUEUED","FAILING","CANCELLING"],AWAITING_CONSENT:Jt,AWAITING_DELEGATE:Jt,AWAITING_CHILD:Jt,AWAITING_SIGNAL:Jt,AWAITING_TIMER:Jt,COMPLETING:["DONE"],FAILING:["FAILED"],CANCELLING:["CANCELLED"],DONE:[],FAILED:[],CANCELLED:[]},ts={HELD:["PENDING","FENCED"],PENDING:["CLAIMED","FENCED"],CLAIMED:["SETTLED","FENCED"],SETTLED:[],FENCED:[]},$n=["SUCCEEDED","FAILED","CANCELLED"],ns={DEFINED:["SUBMITTING","CANCELLED"],SUBMITTING:["SUBMITTED","RUNNING",...$n,"UNCERTAIN"],SUBMITTED:["RUNNING",...$n,"UNCERTAIN"],RUNNING:[...$n,"UNCERTAIN"],UNCERTAIN:["SUBMITTING","SUBMITTED","RUNNING",...$n],SUCCEEDED:[],FAILED:[],CANCELLED:[]},rs={PENDING:["GRANTED","DENIED","EXPIRED","CANCELLED"],GRANTED:[],DENIED:[],EXPIRED:[],CANCELLED:[]},Vt={run:es,delivery:ts,attempt:ns,consent:rs},Io=["done","failed","parked","continued","lost","given_back","refused"],vo=["admitted","resumed","continued","recovered","contain"];function T(t){return Object.keys(Vt[t])}s(T,"statesOf");function os(t,e,n){return Vt[t][e]?.includes(n)??!1}s(os,"canMove");function Ce(t,e){return T(t).filter(n=>os(t,n,e))}s(Ce,"sourcesOf");function be(t){return T(t).filter(e=>(Vt[t][e]??[]).length===0)}s(be,"terminalStatesOf");var Ao=T("delivery").filter(t=>!be("delivery").includes(t));function xe(t){return be("run").includes(t)}s(xe,"isTerminalRun");function I(t){for(let e of t)if(!/^[A-Z_]+$/.test(e))throw new TypeError(`not a state: ${e}`);return t.map(e=>`'${e}'`).join(", ")}s(I,"sqlStates");function jm(t){let e=Object.entries(Vt[t]).flatMap(([n,r])=>r.length===0?[`    ${n} --> [*]`]:r.map(o=>`    ${n} --> ${o}`));return["stateDiagram-v2",`    [*] --> ${T(t)[0]}`,...e].join(`
`)}s(jm,"diagram");var zm=["unknown","terminal","settled","fenced","superseded","held","early","claimed","paused","quarantined","ending","contended"],Gm=43e3,yt=s(t=>({reason:t,deleteMessage:!0,retryInSeconds:0}),"gone"),_t=s((t,e)=>({reason:t,deleteMessage:!1,retryInSeconds:Math.min(Gm,Math.max(1,Math.ceil(e)))}),"back");function So(t){return t===void 0?_t("unknown",30):xe(t.runStatus)?yt("terminal"):t.deliveryStatus==="SETTLED"?yt("settled"):t.deliveryStatus==="FENCED"?yt("fenced"):t.seq<t.currentSeq?yt("superseded"):t.deliveryStatus==="CLAIMED"?_t("claimed",Math.max(5,t.leaseEndsInSeconds??30)):t.deliveryStatus==="HELD"?_t("held",30):t.quarantined?yt("quarantined"):t.paused?yt("paused"):t.runStatus!=="QUEUED"&&t.cause!=="contain"?_t("ending",30):t.dueInSeconds>0?_t("early",t.dueInSeconds):_t("contended",2)}s(So,"decideSkip");var Ke=["expire","grant","deny"],On=["grant","deny"],Nn=["cancel","wait","abandon"],is=["consent","delegate","child","signal","timer"],Fm={consent:"AWAITING_CONSENT",delegate:"AWAITING_DELEGATE",child:"AWAITING_CHILD",signal:"AWAITING_SIGNAL",timer:"AWAITING_TIMER"};function Co(t){let e=is.find(n=>t.includes(n));if(e===void 0)throw new TypeError("a run is parked on at least one arm");return Fm[e]}s(Co,"parkedAs");function Do(t,e,n=!1){if(!n){if(!Um(t.deciders,e))return{kind:"not_a_decider"};if(e.subject===t.requestedBy&&!t.requesterMayDecide)return{kind:"requester"}}if(e.digest!==t.requestDigest)return{kind:"changed"};let r=t.decisions.find(({by:i})=>i===e.subject);if(t.status==="PENDING"&&t.expired)return{kind:"expired"};if(r?.verdict===e.verdict)return{kind:"repeated",status:t.status};if(t.status!=="PENDING")return{kind:"closed",status:t.status,by:t.closedBy??"unknown"};if(r!==void 0)return{kind:"contradicts",verdict:r.verdict};if(e.verdict==="deny")return{kind:"counts",becomes:"DENIED"};let o=t.decisions.filter(({verdict:i})=>i==="grant").length+1;return{kind:"counts",becomes:n||o>=t.quorum?"GRANTED":"PENDING"}}s(Do,"judgeDecision");function Qt(t){return t.startsWith("role:")}s(Qt,"namesRole");function qn(t,e){return!Qt(t)&&(t===e||t===`user:${e}`)}s(qn,"namesSubject");function Um(t,e){return t.some(r=>qn(r,e.subject))||e.roles.some(r=>t.includes(`role:${r}`))}s(Um,"isDecider");function Ro(t){return t==="grant"?"GRANTED":t==="deny"?"DENIED":"EXPIRED"}s(Ro,"afterExpiry");function $o(t){let e=new Set;return t.flatMap(n=>{let{armId:r,consent:o}=n;if(o!==void 0){if(o.status==="PENDING"||o.status==="CANCELLED")return[];let{consentId:d,status:u,closedBy:l,decisions:c}=o;return[{armId:r,resultText:JSON.stringify({outcome:u,consentId:d,by:l??"unknown",decisions:c})}]}if(n.attempt!==void 0)return Wm(r,n.attempt);if(n.child!==void 0)return Km(r,n.child);let i=n.signals?.find(({signalId:d})=>!e.has(d));if(i!==void 0){e.add(i.signalId);let{signalId:d,from:u,at:l,payload:c}=i;return[{armId:r,signalId:d,resultText:JSON.stringify({outcome:"RECEIVED",payload:c,from:u,at:l})}]}if(!n.due)return[];if(n.retry)return[{armId:r,resultText:null}];let a=n.owner==="signal"?"TIMED_OUT":"ELAPSED";return[{armId:r,resultText:JSON.stringify({outcome:a})}]})}s($o,"closingsOf");function Wm(t,e){let{attemptId:n,status:r,overdue:o,report:i,digest:a}=e,d=s(u=>[{armId:t,resultText:JSON.stringify({attemptId:n,...u})}],"close");return r==="SUCCEEDED"||r==="FAILED"?d({outcome:r,report:i,digest:a}):r==="CANCELLED"?d({outcome:o?"DEADLINE":"CANCELLED"}):[]}s(Wm,"attemptClosing");function Km(t,e){let{runId:n,status:r,text:o,digest:i}=e,a=s(d=>[{armId:t,resultText:JSON.stringify({runId:n,...d})}],"close");return r==="DONE"||r==="FAILED"?a({outcome:r,text:o,digest:i}):r==="CANCELLED"?a({outcome:r}):[]}s(Km,"childClosing");var Be={};xn(Be,{Admitted:()=>fs,AttemptPage:()=>Ym,AttemptResolution:()=>nf,AttemptResolved:()=>rf,AttemptSummary:()=>hs,AttemptView:()=>Qm,BatchAdmitted:()=>Jm,BatchItem:()=>ms,BatchOutcome:()=>ps,BatchRequest:()=>Hm,CALLBACK_TOKEN:()=>ef,CALLBACK_TOKEN_HEADER:()=>Zm,Cancelled:()=>sf,Cleared:()=>df,ConsentPage:()=>lf,ConsentSummary:()=>ks,ConsentView:()=>uf,ContainmentItem:()=>Es,Decided:()=>mf,DecisionRequest:()=>cf,IdempotencyKey:()=>ls,JobReport:()=>Xm,MAX_BATCH:()=>Pn,MAX_BODY_BYTES:()=>as,MAX_PAGE:()=>ds,OpenWait:()=>Oo,Problem:()=>bf,ReasonRequest:()=>of,Released:()=>Vm,Reported:()=>tf,ReservedUnits:()=>Is,Resolved:()=>af,RunError:()=>xs,RunPage:()=>_f,RunRequest:()=>cs,RunSummary:()=>No,RunView:()=>yf,SIGNAL_NAME:()=>ff,SIGNAL_NAME_RULE:()=>pf,SignalRequest:()=>gf,Signalled:()=>hf,Timeline:()=>wf,TimelineEntry:()=>vs,WORKFLOW_NAME:()=>us,WorkflowList:()=>kf,WorkflowRef:()=>Yt,WorkflowView:()=>As});import*as ae from"zod";import*as ss from"zod";var as=1048576,Pn=100,ds=200,R=ss.iso.datetime();import*as C from"zod";var us=/^[a-z0-9][a-z0-9._-]{0,99}$/i,Bm=C.string().regex(us,'letters, digits, ".", "_" and "-", at most 100'),ls=C.string().min(1).max(200).regex(/^[\x21-\x7e]+$/,"printable ASCII without spaces"),cs=C.strictObject({workflow:Bm.optional(),version:C.int().min(1).max(1e6).optional(),input:C.unknown().optional(),queue:C.string().regex(Ft).optional(),priority:C.int().min(0).max(9).optional(),agent:C.string().min(1).max(200).optional(),held:C.boolean().optional(),holdFor:C.string().refine(Se,'such as "10m"').optional(),startAfter:C.string().refine(t=>Se(t)||R.safeParse(t).success,'such as "2h" or "2030-01-31T08:00:00Z"').optional()}),ms=cs.extend({idempotencyKey:ls.optional()}),Hm=C.strictObject({runs:C.array(ms).min(1).max(Pn)}),Yt=C.object({name:C.string(),version:C.int(),digest:C.string()}),fs=C.object({runId:C.string(),created:C.boolean(),status:C.enum(T("run")),enqueueSeq:C.int(),workflow:Yt,queue:C.string(),priority:C.int(),held:C.boolean(),startsAt:R.nullable()}),ps=C.discriminatedUnion("outcome",[C.object({outcome:C.literal("admitted"),run:fs}),C.object({outcome:C.literal("conflict"),idempotencyKey:C.string(),detail:C.string()})]),Jm=C.object({runs:C.array(ps)}),Vm=C.object({runId:C.string(),enqueueSeq:C.int(),released:C.boolean()});import*as S from"zod";var gs={attemptId:S.string(),runId:S.string(),workflow:S.string(),name:S.string(),status:S.enum(T("attempt")),service:S.string(),executor:S.object({adapter:S.string(),version:S.string(),digest:S.string()}),digest:S.string(),idempotencyKey:S.string(),submissions:S.int(),uncertain:S.string().nullable(),trouble:S.object({why:S.string(),at:R}).nullable(),cancelling:S.enum(["deadline","ended","restart"]).nullable(),contradiction:S.string().nullable(),createdAt:R,acknowledgedAt:R.nullable(),heartbeatAt:R.nullable(),deadlineAt:R.nullable(),nextLookAt:R.nullable(),closedAt:R.nullable(),closedBy:S.string().nullable()},hs=S.object(gs),ys=S.object({code:S.string(),message:S.string()}),Qm=S.object({...gs,request:S.unknown(),result:S.unknown(),error:ys.nullable()}),Ym=S.object({attempts:S.array(hs),nextCursor:S.string().nullable()}),Xm=Wt,Zm="ghouls-callback-token",ef=/^[A-Za-z0-9_-]{43}$/,tf=S.object({attemptId:S.string(),status:S.enum(T("attempt"))}),nf=S.strictObject({outcome:S.enum(["succeeded","failed","cancelled"]),result:S.unknown().optional(),error:ys.extend({code:S.string().min(1).max(200),message:S.string().max(2e3)}).optional(),reason:S.string().trim().min(1).max(1e3)}).refine(t=>t.outcome!=="succeeded"||"result"in t,{path:["result"],message:"say what it gave: a word stands (null where it gives nothing)"}),rf=S.object({attemptId:S.string(),runId:S.string(),status:S.enum(T("attempt")),resumed:S.boolean()});import*as H from"zod";var of=H.strictObject({reason:H.string().trim().min(1).max(1e3)}),sf=H.object({runId:H.string(),cancelled:H.boolean(),status:H.enum(T("run"))}),af=H.object({runId:H.string(),item:H.string(),openItems:H.int(),status:H.enum(T("run"))}),df=H.object({runId:H.string(),cleared:H.boolean(),status:H.enum(T("run"))});import*as w from"zod";import*as v from"zod";var _s={consentId:v.string(),runId:v.string(),workflow:v.string(),title:v.string(),status:v.enum(T("consent")),digest:v.string(),deciders:v.array(v.string()),quorum:v.int(),requestedBy:v.string(),requesterMayDecide:v.boolean(),onExpiry:v.enum(Ke),source:v.string().nullable(),createdAt:R,expiresAt:R.nullable(),closedAt:R.nullable(),closedBy:v.string().nullable()},ws={by:v.string(),verdict:v.enum(On),at:R},uf=v.object({..._s,detail:v.unknown(),decisions:v.array(v.object({...ws,comment:v.string().nullable()}))}),ks=v.object({..._s,decisions:v.array(v.object(ws)),problem:v.string().nullable()}),lf=v.object({consents:v.array(ks),nextCursor:v.string().nullable()}),cf=v.strictObject({verdict:v.enum(On),digest:v.string().min(1).max(200),comment:v.string().trim().min(1).max(4e3).optional()}),mf=v.object({consentId:v.string(),runId:v.string(),status:v.enum(T("consent")),repeated:v.boolean(),resumed:v.boolean()}),ff=/^(?!\.{1,2}$)[\x21-\x7e][\x20-\x7e]{0,199}$/,pf='printable ASCII of 1 to 200 characters that begins with no space, and neither "." nor ".."',gf=v.strictObject({payload:v.unknown().optional()}),hf=v.object({runId:v.string(),signalId:v.string(),repeated:v.boolean(),resumed:v.boolean()}),Oo=v.object({kind:v.enum(jt),name:v.string(),scope:v.string(),dueAt:R.nullable(),consentId:v.string().nullable(),attemptId:v.string().nullable(),childRunId:v.string().nullable()});var bs=w.object({reason:w.string(),at:R}),No=w.object({runId:w.string(),parentRunId:w.string().nullable(),workflow:Yt,status:w.enum(T("run")),queue:w.string(),priority:w.int(),agent:w.string().nullable(),idempotencyKey:w.string().nullable(),requestedBy:w.string(),enqueueSeq:w.int(),steps:w.int(),errorCode:w.string().nullable(),attention:bs.nullable(),quarantine:bs.nullable(),pausedAt:R.nullable(),deadlineAt:R.nullable(),createdAt:R,startsAt:R.nullable(),startedAt:R.nullable(),finishedAt:R.nullable()}),xs=w.object({code:w.enum(xo),name:w.string(),message:w.string(),stack:w.string().optional(),step:w.string().optional()}),Es=w.object({id:w.string(),kind:w.enum(["worker","effect","attempt","child"]),subject:w.string(),enqueueSeq:w.int(),overAt:R.nullable(),createdAt:R,acknowledgedAt:R.nullable(),acknowledgedBy:w.string().nullable(),acknowledgement:w.string().nullable()}),Is=w.object({capacity:w.string(),units:w.int(),name:w.string(),scope:w.string(),status:w.enum(["WAITING","HELD","LEFT"]),askedAt:R,heldAt:R.nullable()}),yf=No.extend({waits:w.array(Oo),reservations:w.array(Is),input:w.unknown(),output:w.unknown(),error:xs.nullable(),containment:w.array(Es)}),_f=w.object({runs:w.array(No),nextCursor:w.string().nullable()}),vs=w.discriminatedUnion("kind",[w.object({kind:w.literal("admitted"),at:R}),w.object({kind:w.literal("delivery"),at:R,enqueueSeq:w.int(),cause:w.enum(vo),status:w.enum(T("delivery")),dueAt:R}),w.object({kind:w.literal("published"),at:R,enqueueSeq:w.int(),publications:w.int()}),w.object({kind:w.literal("claimed"),at:R,enqueueSeq:w.int(),worker:w.string()}),w.object({kind:w.literal("step"),at:R,enqueueSeq:w.int(),ordinal:w.int(),call:w.enum(jt),name:w.string(),scope:w.string(),nth:w.int(),outcome:w.enum(["ok","error"]),tries:w.int(),startedAt:R}),w.object({kind:w.literal("worker_ended"),at:R,enqueueSeq:w.int(),worker:w.string(),how:w.string()}),w.object({kind:w.literal("settled"),at:R,enqueueSeq:w.int(),outcome:w.enum(Io)}),w.object({kind:w.literal("fenced"),at:R,enqueueSeq:w.int()}),w.object({kind:w.literal("finished"),at:R,status:w.enum(T("run")),errorCode:w.string().nullable()})]),wf=w.object({runId:w.string(),status:w.enum(T("run")),entries:w.array(vs)}),As=Yt.extend({queue:w.string(),onWorkerLoss:w.enum(["resume","fail"]),inputSchema:w.unknown(),outputSchema:w.unknown()}),kf=w.object({workflows:w.array(As)});var bf=ae.object({type:ae.string(),title:ae.string(),status:ae.int(),detail:ae.string(),fix:ae.string().optional(),requestId:ae.string(),errors:ae.array(ae.object({path:ae.string(),message:ae.string()})).optional()});var Ru={};xn(Ru,{DEFAULT_APPLICATION_ROLE:()=>ui,DEFAULT_SCHEMA:()=>wt,DRIVERS:()=>Ts,LedgerError:()=>q,MAX_BUFFERED_SIGNALS:()=>dn,createRoles:()=>Du,executorOn:()=>Mn,inCallersTransaction:()=>jn,migrate:()=>Su,migrationSql:()=>Au,openLedger:()=>xu,readRunsById:()=>Tn,readRunsByKey:()=>bt,rolesSql:()=>li,sqlStateOf:()=>Ee});var Cs=new Map,wt="ghouls",xf=/^[a-z_][a-z0-9_]{0,39}$/;function y(t,e){return Ds({name:t,text:Rs(t,e),writes:!1})}s(y,"readStatement");function h(t,e){return Ds({name:t,text:Rs(t,e),writes:!0})}s(h,"writeStatement");function Ds(t){if(Cs.has(t.name))throw new TypeError(`two statements are called ${t.name}`);return Cs.set(t.name,t),t}s(Ds,"listed");function Rs(t,e){return`/* ${t} */
${e.trim()}`}s(Rs,"tagged");function kt(t,e){if(!xf.test(t))throw new TypeError(`${e} "${t.slice(0,60)}" is not taken: use lower-case letters, digits and "_", at most 40`)}s(kt,"assertIdentifier");function ut(t,e){return kt(e,"the schema name"),t.replace(/\bghouls\./g,`${e}.`)}s(ut,"bindSchema");function p(t){let e=s((a,d)=>new TypeError(`column ${a} is ${typeof t[a]}, ${d} was expected`),"fail"),n=s(a=>{let d=t[a];if(typeof d!="string")throw e(a,"text");return d},"text"),r=s(a=>{let d=t[a],u=typeof d=="string"?Number(d):d;if(typeof u!="number"||!Number.isFinite(u))throw e(a,"a number");return u},"number"),o=s(a=>{let d=t[a];if(!(d instanceof Date))throw e(a,"a time");return d},"date"),i=s(a=>d=>t[d]===null?null:a(d),"orNull");return{text:n,textOrNull:i(n),texts:s(a=>{let d=t[a];if(!Array.isArray(d)||!d.every(u=>typeof u=="string"))throw e(a,"a list of texts");return d},"texts"),number:r,numberOrNull:i(r),boolean:s(a=>{let d=t[a];if(typeof d!="boolean")throw e(a,"a boolean");return d},"boolean"),date:o,dateOrNull:i(o)}}s(p,"rows");var Ef=h("runs.admit",`
with bound as materialized (
  select set_config('lock_timeout', $1::text, true) as lock_timeout
), request as materialized (
  select t.*, greatest(ghouls.clock(), t.start_at, ghouls.clock() + t.start_ms * interval '1 millisecond') as starts_at
  from bound, unnest(
    $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::smallint[],
    $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::double precision[], $17::boolean[],
    $18::double precision[], $20::text[], $21::double precision[], $22::timestamptz[]
  ) with ordinality as t(tenant_id, run_id, idempotency_key, request_digest, workflow_name, workflow_version, workflow_digest, queue,
    priority, agent, requested_by, requested_roles, input_text, input_digest, deadline_ms, held, hold_ms, on_worker_loss, start_ms, start_at, position)
  where bound.lock_timeout is not null
  order by t.tenant_id, t.idempotency_key, t.position
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
    workflow_version, workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq,
    input_text, input_digest, deadline_at, created_at, on_worker_loss, starts_at)
  select q.tenant_id, q.run_id, q.run_id, q.idempotency_key, q.request_digest, q.workflow_name, q.workflow_version,
    q.workflow_digest, q.queue, q.priority, q.agent, q.requested_by,
    array(select jsonb_array_elements_text(q.requested_roles::jsonb)), 'QUEUED', 1, q.input_text, q.input_digest,
    q.starts_at + q.deadline_ms * interval '1 millisecond', ghouls.clock(), q.on_worker_loss,
    case when q.starts_at > ghouls.clock() then q.starts_at end
  from request q
  on conflict do nothing
  returning tenant_id, run_id, enqueue_seq, queue, priority
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, hold_expires_at,
    next_publication_at, created_at)
  select run.tenant_id, run.run_id, run.enqueue_seq, 'admitted', case when q.held then 'HELD' else 'PENDING' end,
    run.queue, run.priority, q.starts_at,
    case when q.held then ghouls.clock() + q.hold_ms * interval '1 millisecond' end,
    case when not q.held then
      q.starts_at + case when q.starts_at - ghouls.clock() <= $23::double precision * interval '1 second'
        then $19::double precision else 0 end * interval '1 second'
    end,
    ghouls.clock()
  from run join request q on q.tenant_id = run.tenant_id and q.run_id = run.run_id
  returning run_id
)
select delivery.run_id, case when q.starts_at > ghouls.clock() then q.starts_at end as starts_at,
  extract(epoch from q.starts_at - ghouls.clock())::double precision as due_in
from delivery
join request q on q.run_id = delivery.run_id`),$s=`run.tenant_id, run.run_id, run.idempotency_key, run.request_digest, run.workflow_name,
  run.workflow_version, run.workflow_digest, run.queue, run.priority, run.status, run.enqueue_seq,
  d.status = 'HELD' as held, d.status = 'PENDING' and d.published_at is null as unpublished, run.starts_at,
  greatest(0, extract(epoch from d.due_at - ghouls.clock()))::double precision as due_in`,If=y("runs.by-key",`
select ${$s}
from unnest($1::text[], $2::text[]) as q(tenant_id, idempotency_key)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.idempotency_key = q.idempotency_key
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`),vf=y("runs.by-id",`
select ${$s}
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`);async function qo(t,e,n){let r=s(i=>e.map(i),"column"),o=await t.run(Ef,[String(n.lockTimeoutMs),r(i=>i.tenantId),r(i=>i.runId),r(i=>i.idempotencyKey),r(i=>i.requestDigest),r(i=>i.workflow.name),r(i=>i.workflow.version),r(i=>i.workflow.digest),r(i=>i.queue),r(i=>i.priority),r(i=>i.agent),r(i=>i.requestedBy),r(i=>JSON.stringify(i.requestedRoles)),r(i=>i.inputText),r(i=>i.inputDigest),r(i=>i.deadlineMs),r(i=>i.held),r(i=>i.holdMs),n.publisherGraceSeconds,r(i=>i.onWorkerLoss),r(({startAfter:i})=>i!==null&&"ms"in i?i.ms:null),r(({startAfter:i})=>i!==null&&"at"in i?i.at:null),me]);return new Map(o.map(i=>{let a=p(i);return[a.text("run_id"),{startsAt:a.dateOrNull("starts_at"),startsInSeconds:a.number("due_in")}]}))}s(qo,"insertRunsIfKeyIsNew");async function bt(t,e){return(await t.run(If,[e.map(r=>r.tenantId),e.map(r=>r.idempotencyKey)])).map(Os)}s(bt,"readRunsByKey");async function Tn(t,e){return(await t.run(vf,[e.map(r=>r.tenantId),e.map(r=>r.runId)])).map(Os)}s(Tn,"readRunsById");function Os(t){let e=p(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),idempotencyKey:e.textOrNull("idempotency_key"),requestDigest:e.text("request_digest"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},queue:e.text("queue"),priority:e.number("priority"),status:e.text("status"),enqueueSeq:e.number("enqueue_seq"),held:e.boolean("held"),unpublished:e.boolean("unpublished"),dueInSeconds:e.number("due_in"),startsAt:e.dateOrNull("starts_at")}}s(Os,"admittedRun");var Af=h("deliveries.release",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), released as (
  update ghouls.deliveries d
  set status = 'PENDING', due_at = greatest(d.due_at, ghouls.clock()),
    next_publication_at = greatest(d.due_at, ghouls.clock())
      + case when d.due_at - ghouls.clock() <= $4::double precision * interval '1 second'
        then $3::double precision else 0 end * interval '1 second'
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq
    and r.status = 'QUEUED' and d.status = 'HELD' and d.hold_expires_at > ghouls.clock()
  returning d.tenant_id, d.run_id, d.due_at
)
update ghouls.runs run
set starts_at = released.due_at,
  deadline_at = run.deadline_at + (released.due_at - coalesce(run.starts_at, run.created_at))
from released
where run.tenant_id = released.tenant_id and run.run_id = released.run_id
returning run.run_id`);async function Ns(t,e,n){return(await t.run(Af,[e.tenantId,e.runId,n,me])).length===1}s(Ns,"releaseDeliveryIfHeld");var Cf={retry:"ledger_unavailable",busy:"admission_busy",unavailable:"ledger_unavailable",unknown:"outcome_unknown",schema:"schema_outdated",defect:"internal"},Df={retry:"Try again.",busy:"Try again: another transaction holds the same key.",unavailable:"Try again once PostgreSQL answers; check DATABASE_URL (or the secret) and the role's limits.",unknown:"Ask again under the same idempotency key: the answer tells whether it was committed.",schema:"Run `ghouls migrate` with the migrator's connection string."};function Rf(t,e){let n=(e instanceof k?e.fix:void 0)??Df[t];return n===void 0?{}:{fix:n}}s(Rf,"fixOf");var q=class extends k{static{s(this,"LedgerError")}kind;sqlState;statement;constructor(e,n,r,o){super(Cf[e],`the ledger could not carry out ${n} (${e}${r?`, SQLSTATE ${r}`:""})`,{...Rf(e,o),...e==="defect"||e==="schema"?{}:{retryAfterSeconds:2},cause:o}),this.name="LedgerError",this.kind=e,this.sqlState=r,this.statement=n}},qs=new Set(["42P05","26000"]),$f=new Set(["40001","40P01",...qs]),Of=new Set(["25006","53000","53100","53200","53300","57014","25P03"]),Nf=new Set(["42P01","42703","42883","3F000"]);function Ge(t,e){let n=Ee(t);return n===void 0?{kind:e?"unknown":"unavailable",sqlState:n}:$f.has(n)||Ln(t)?{kind:"retry",sqlState:n}:n==="55P03"?{kind:"busy",sqlState:n}:Of.has(n)?{kind:"unavailable",sqlState:n}:n.startsWith("57P")||n.startsWith("08")?{kind:e?"unknown":"unavailable",sqlState:n}:Nf.has(n)?{kind:"schema",sqlState:n}:{kind:"defect",sqlState:n}}s(Ge,"classify");function Ps(t){return t!==void 0&&qs.has(t)}s(Ps,"isNameRefused");function qf(t){return/^(?:57P|08)/.test(t)||t==="25P03"||t==="25P04"}s(qf,"hasEnded");function Ln(t){return Ee(t)==="0A000"&&t instanceof Error&&"routine"in t&&t.routine==="RevalidateCachedQuery"}s(Ln,"isPlanStale");function Xt(t){let e=t instanceof q?t.sqlState:Ee(t),n=t instanceof q?t.cause:t;return e===void 0||qf(e)||Ln(n)}s(Xt,"isOfNoUse");function Ee(t){if(typeof t!="object"||t===null||!("code"in t))return;let{code:e}=t;return typeof e=="string"&&/^[0-9A-Z]{5}$/.test(e)&&/\d/.test(e)?e:void 0}s(Ee,"sqlStateOf");var Pf=y("caller.state",`
select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
  statement_timestamp() = transaction_timestamp() as begins_transaction`),Tf=h("caller.restore","select set_config('lock_timeout', $1::text, true) as lock_timeout");function Mn(t,e){return{run:s(async(n,r)=>{try{return(await t.query(ut(n.text,e),[...r])).rows}catch(o){let{kind:i,sqlState:a}=Ge(o,!1);throw new q(i,n.name,a,o)}},"run")}}s(Mn,"executorOn");async function jn(t,e){let[n]=await t.run(Pf,[]),r=String(n?.isolation);if(r!=="read committed")throw new k("wrong_transaction",`an admission inside a ${r.toUpperCase()} transaction is refused`,{fix:"Use READ COMMITTED for the transaction that admits."});if(n?.begins_transaction===!0)throw new k("wrong_transaction","this connection is not inside a transaction",{fix:"Send BEGIN first, and COMMIT after your own statements; then publish the receipt."});let o=await e();return await t.run(Tf,[String(n?.lock_timeout)]),o}s(jn,"inCallersTransaction");var Ts=["pg","neon"];function zn(t){t.on("connect",e=>{e.on("error",()=>{})}),t.on("error",()=>{})}s(zn,"surviveLostConnections");import{createHash as Vf}from"node:crypto";import{parseIntoClientConfig as Lf}from"pg-connection-string";function Ls(t){if(!/^postgres(?:ql)?:\/\//i.test(t))throw Po(/^[a-z][a-z\d+.-]*:\/\//i.test(t)?"has another scheme than postgres://":"is no URL");let e;try{e=Lf(t)}catch(n){throw Po(Mf(t,n))}if(e.port!==void 0&&!js(e.port))throw Po(Ms);return e}s(Ls,"addressOf");var Ms="has a port that is no number from 1 to 65535";function Mf(t,e){if(e instanceof Error&&"path"in e&&"code"in e)return`names the file ${String(e.path)}, which cannot be read (${String(e.code)})`;let n=/^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(t)?.[1]??"",r=/:([^:\]]*)$/.exec(n)?.[1];return r!==void 0&&r!==""&&!js(Number(r))?Ms:"cannot be read"}s(Mf,"whyUnreadable");function js(t){return Number.isInteger(t)&&t>=1&&t<=65535}s(js,"isPort");function Po(t){return new k("configuration_invalid",`the connection string ${t}`,{fix:"Write postgres://user:password@host:port/database, with / ? # % and @ in a password as %2F %3F %23 %25 and %40."})}s(Po,"invalid");async function zs(t){let e=await import("@neondatabase/serverless"),{Query:n}=e.Client;class r extends n{static{s(this,"ExtendedQuery")}requiresPreparation(){return!0}}class o extends e.Client{static{s(this,"Client")}constructor(a){super(a);let d=this.query.bind(this),u=s((...l)=>jf(l[0])?new Promise((c,m)=>{let f=s((g,_)=>g?m(g):c(_),"done");d(new r(l[0],void 0,f))}):d(...l),"query");this.query=u,t!==void 0&&(this.neonConfig.wsProxy=t,this.neonConfig.useSecureWebSocket=!1,this.neonConfig.pipelineTLS=!1,this.neonConfig.pipelineConnect=!1,this.neonConfig.coalesceWrites=!1)}}return i=>{let a=new e.Pool(i);return a.Client=o,zn(a),a}}s(zs,"neonPool");function jf(t){return typeof t=="object"&&t!==null&&"queryMode"in t}s(jf,"isExtended");import zf from"pg";import Gf from"pg-types/lib/textParsers.js";var{init:Ff}=Gf,Gs=new Map;Ff((t,e)=>{Gs.set(t,e)});var Uf={getTypeParser:s(t=>Gs.get(t)??String,"getTypeParser")},Fs=s(t=>{let e=new zf.Pool({...t,types:Uf});return zn(e),e},"openPgPool");var Gn=class{static{s(this,"Patience")}#e;#t;#n=new AbortController;constructor(e,n){this.#e=n,this.#t=setTimeout(()=>this.#n.abort(),e)}get over(){return this.#n.signal.aborted}end(){clearTimeout(this.#t)}async allows(e,n=400){if(this.over)return!1;let r=Math.min(n,50*2**(e-1))*(.5+this.#e());return await this.bound(new Promise(o=>setTimeout(o,r))),!this.over}async bound(e){if(this.over)return e;let{signal:n}=this.#n,r,o=new Promise(i=>{r=s(()=>i(void 0),"stop"),n.addEventListener("abort",r,{once:!0})});try{return await Promise.race([e,o])}finally{r!==void 0&&n.removeEventListener("abort",r)}}};var Wf=new Set(["ECONNREFUSED","ECONNRESET","ETIMEDOUT","EPIPE","EHOSTUNREACH","ENETUNREACH","EAI_AGAIN"]),Kf=/^Connection terminated|timeout expired|timeout exceeded when trying to connect/i;function Us(t){if(To(t))return!1;let e=Ee(t);return e!==void 0?e==="57P03"||e==="53300"||e.startsWith("08"):t instanceof Error?"code"in t&&typeof t.code=="string"?Wf.has(t.code):Kf.test(t.message):!0}s(Us,"mayComeSoon");var Bf=/\bauthentication failed\b/i;function To(t){let e=Ee(t);return e==="08P01"?t instanceof Error&&Bf.test(t.message):e==="28P01"||e==="28000"}s(To,"isRefused");var Hf=2e3,xt=class{static{s(this,"Connections")}max;#e;#t;#n;#r;#o=new Set;#i;constructor(e){this.#e=e,this.max=e.maxConnections??2,this.#t=e.chance??(()=>.5)}patience(){return new Gn(this.#e.connectPatienceMs??1e4,this.#t)}async connect(e,n){let r=0,o=new Error("no connection in time");for(let i=1;;i+=1){let a,d=!1;try{a=await this.#a(this.#s(),n),d=this.#m(a);let u=await this.#f(a,n);if(u!==void 0)return u}catch(u){if(o=u,a!==void 0&&To(u)){if(r+=1,await this.#a(this.#c(a),n).catch(Lo(e))&&r===1||this.#u&&await n.allows(i,Hf))continue;return Lo(e)(u)}if(a!==void 0&&a.state!=="current"||!(a!==void 0&&d&&this.#m(a))&&Us(u)&&await n.allows(i))continue}return Lo(e)(o)}}async#a(e,n){if(!this.#u)return e;let r=await n.bound(e.then(o=>({value:o})));if(r===void 0)throw Jf();return r.value}get#u(){return typeof this.#e.connectionString!="string"}#m(e){return e.held>=this.max}async#f(e,n){e.waiting+=1;let r=e.pool.connect().finally(()=>{e.waiting-=1,this.#p(e)}),o=await n.bound(r);if(o===void 0){r.then(i=>i.release(!1),()=>{});return}return e.held+=1,{keepsNames:e.keepsNames,query:s(i=>o.query(i),"query"),release:s(i=>{e.held-=1,o.release(i)},"release")}}async#s(){this.#h(),this.#n??=this.#d().then(n=>this.#l(n));let e=this.#n;try{return await e}catch(n){throw this.#n===e&&(this.#n=void 0),n}}async#d(){let{connectionString:e}=this.#e;if(typeof e=="string")return e;let n=this.patience();try{return await this.#a(e(),n)}finally{n.end()}}async#l(e){let{driver:n="pg",neonProxy:r,password:o}=this.#e,i=Ls(e),a=n==="neon"?await zs(r):Fs;this.#h();let d=a({application_name:this.#e.applicationName??"ghouls",query_timeout:this.#e.answerTimeoutMs??2e4,...i,...o===void 0?{}:{password:o},max:this.max,connectionTimeoutMillis:this.#e.connectTimeoutMs??5e3,idleTimeoutMillis:3e4,allowExitOnIdle:!0}),u=n==="pg"&&!/-pooler\b/.test(i.host??""),l={connectionString:e,pool:d,keepsNames:u,waiting:0,held:0,state:"current",ending:void 0};return this.#o.add(l),l}async#c(e){return e.state!=="current"?!0:this.#u?(this.#r??=this.#g(e).finally(()=>{this.#r=void 0}),this.#r):!1}async#g(e){let n=await this.#d();if(n===e.connectionString)return!1;let r=await this.#l(n);return e.state="replaced",this.#n=Promise.resolve(r),this.#p(e),!0}#p(e){e.state!=="replaced"||e.waiting>0||this.#y(e)}#y(e){return e.state="ended",e.ending??=e.pool.end().finally(()=>this.#o.delete(e)),e.ending}#h(){if(this.#i!==void 0)throw new Error("the ledger has been closed")}close(){return this.#i??=this.#k(),this.#i}async#k(){await Promise.all([...this.#o].map(e=>this.#y(e)))}};function Jf(){return new Error("the connection string was not fetched in time")}s(Jf,"unfetched");function Lo(t){return e=>{throw e instanceof q?e:new q("unavailable",t,Ge(e,!1).sqlState,e)}}s(Lo,"unavailable");var Fn=class{static{s(this,"OpenTransaction")}#e;#t=!1;#n=!1;constructor(e){this.#e=e}async run(e,n){return this.#i(this.#e.send(this.#o(),e,n))}async ask(e,n){let r=this.#o(),{faults:o,what:i}=this.#e,a=s(async()=>{await o("ledger.before-statement",`${i}.ask`);let d=await r.query({text:e,values:[...n],queryMode:"extended"});return await o("ledger.after-statement",`${i}.ask`),d},"asking");return this.#i(a())}async commit(){let e=this.#o();try{await this.#r(e)}catch(n){throw Xt(n)&&(this.#n=!0),n}this.#u(!1)}async#r(e){let{faults:n,what:r}=this.#e,o;try{await n("ledger.before-commit",r),o=(await this.#a(e.query("commit"))).command,await n("ledger.after-commit",r)}catch(i){let{kind:a,sqlState:d}=Ge(i,!0);throw new q(a,`${r}: commit`,d,i)}if(o!=="COMMIT")throw new q("defect",`${r}: commit answered ${o}`,void 0,void 0)}async rollback(e=this.#e.answerWithinMs){if(this.#t)return;this.#t=!0;let n=this.#n?!1:await Ws(this.#e.held.query("rollback"),e).then(()=>!0,()=>!1);this.#u(!n)}#o(){if(this.#t)throw new Error(`${this.#e.what}: the transaction is over`);return this.#e.held}async#i(e){try{return await this.#a(e)}catch(n){throw Xt(n)&&(this.#n=!0),n}}#a(e){return Ws(e,this.#e.answerWithinMs)}#u(e){this.#t=!0,this.#e.held.release(e),this.#e.ended?.()}};async function Ws(t,e){if(e===void 0)return t;let n,r=new Promise((o,i)=>{n=setTimeout(()=>i(new Error(`no answer within ${e} ms`)),e)});try{return await Promise.race([t,r])}finally{clearTimeout(n)}}s(Ws,"inTime");var Un=class{static{s(this,"Turns")}#e;#t=[];constructor(e){this.#e=e}async take(e){return this.#e>0?(this.#e-=1,!0):new Promise(n=>{let r=s(()=>{clearTimeout(o),n(!0)},"taken"),o=setTimeout(()=>{this.#t.splice(this.#t.indexOf(r),1),n(!1)},e);this.#t.push(r)})}give(){let e=this.#t.shift();e===void 0?this.#e+=1:e(!0)}};var Qf=4,Wn=class{static{s(this,"Database")}schema;turns;#e;#t;#n;#r;#o=new Map;#i=!1;constructor(e){this.schema=e.schema??wt,ut("",this.schema),this.#t=e.preparedStatements,this.#n=e.faults??io,this.#r=e.chance??(()=>.5),this.#e=new xt(e),this.turns=new Un(Math.max(1,this.#e.max-1))}async run(e,n){let r=this.#e.patience(),o=!1,i=!0,a=s(d=>o&&d instanceof q&&d.kind!=="unknown"?new q("unknown",e.name,d.sqlState,d):d,"asTold");try{for(let d=1;;d+=1){let u=await this.#e.connect(e.name,r).catch(l=>{throw a(l)});try{return await this.#a(u,e,n,i)}catch(l){if(l instanceof q&&Ln(l.cause)&&(i=!1),o||=l instanceof q&&l.kind==="unknown",!(l instanceof q)||!Ks(l)||d>=Bs(l))throw a(l);await this.#s(d)}}}finally{r.end()}}async#a(e,n,r,o){let i=!0;try{let a=await this.#u(e,n,r,o);return i=!1,a}catch(a){throw i=Xt(a),a}finally{e.release(i)}}async#u(e,n,r,o=!0){try{await this.#n("ledger.before-statement",n.name);let{text:i,name:a}=this.#m(n),d=o&&!this.#i&&(this.#t??e.keepsNames),u=await e.query({text:i,values:[...r],...d?{name:a}:{}});return await this.#n("ledger.after-statement",n.name),u.rows}catch(i){let{kind:a,sqlState:d}=Ge(i,n.writes);throw Ps(d)&&(this.#i=!0),new q(a,n.name,d,i)}}#m(e){let n=this.#o.get(e.name);if(n===void 0){let r=ut(e.text,this.schema),o=Vf("sha256").update(r).digest("hex").slice(0,12);n={text:r,name:`${e.name}:${o}`},this.#o.set(e.name,n)}return n}async transaction(e,n){let r=await this.begin(e);try{let o=await n({run:s((i,a)=>r.run(i,a),"run")});return await r.commit(),o}catch(o){throw await r.rollback(),o}}async begin(e,n,r){return new Fn({held:await this.#f(e),what:e,faults:this.#n,send:s((o,i,a)=>this.#u(o,i,a),"send"),answerWithinMs:n,ended:r})}async#f(e){let n=this.#e.patience();try{for(let r=1;;r+=1){let o=await this.#e.connect(e,n);try{return await o.query("begin isolation level read committed"),o}catch(i){o.release(!0);let{kind:a,sqlState:d}=Ge(i,!1),u=new q(a,`${e}: begin`,d,i);if(!Ks(u)||r>=Bs(u))throw u;await this.#s(r)}}}finally{n.end()}}#s(e){let n=25*4**(e-1)*(.5+this.#r());return new Promise(r=>setTimeout(r,n))}async close(){await this.#e.close()}};function Ks(t){return t.kind!=="defect"&&t.kind!=="schema"&&t.kind!=="busy"}s(Ks,"isRepeatable");function Bs(t){return t.cause instanceof Error&&/read timeout/i.test(t.cause.message)||t.sqlState==="57014"?2:Qf}s(Bs,"triesOf");var Hs={number:1,name:"runs",sql:`
create function ghouls.clock() returns timestamptz
  language sql stable parallel safe
  as 'select statement_timestamp()';
comment on function ghouls.clock() is 'The only time that the protocol knows. Tests replace it.';

create table ghouls.workflows (
  name text not null,
  version integer not null,
  digest text not null,
  build text not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (name, version, digest)
);
comment on table ghouls.workflows is 'Which builds have which workflows. Belongs to the deployment, so it has no tenant.';

create table ghouls.runs (
  tenant_id text not null check (tenant_id <> ''),
  run_id uuid not null,
  first_run_id uuid not null,
  idempotency_key text,
  request_digest text not null,
  workflow_name text not null,
  workflow_version integer not null,
  workflow_digest text not null,
  queue text not null,
  priority smallint not null check (priority between 0 and 9),
  agent text,
  requested_by text not null,
  requested_roles text[] not null,
  status text not null check (status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER', 'COMPLETING', 'FAILING', 'CANCELLING',
    'DONE', 'FAILED', 'CANCELLED')),
  enqueue_seq integer not null check (enqueue_seq >= 1),
  journal_length integer not null default 0 check (journal_length >= 0),
  journal_bytes bigint not null default 0 check (journal_bytes >= 0),
  input_text text,
  input_digest text not null,
  output_text text,
  output_digest text,
  error_code text,
  error_text text,
  error_digest text,
  attention_reason text,
  attention_at timestamptz,
  quarantine_reason text,
  quarantined_at timestamptz,
  paused_at timestamptz,
  deadline_at timestamptz,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, run_id),
  constraint runs_run_id_key unique (run_id),
  constraint runs_idempotency_key unique (tenant_id, idempotency_key),
  constraint runs_finished check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (finished_at is not null)),
  constraint runs_started check (status in ('QUEUED', 'FAILING', 'FAILED', 'CANCELLING', 'CANCELLED')
    or started_at is not null),
  constraint runs_failed check ((status in ('FAILING', 'FAILED')) = (error_code is not null)),
  constraint runs_error check (num_nulls(error_code, error_digest) <> 1 and (error_text is null or error_code is not null)),
  constraint runs_output check ((output_text is null or output_digest is not null)
    and (output_digest is null or status in ('COMPLETING', 'DONE'))),
  constraint runs_input check (input_text is not null or finished_at is not null),
  constraint runs_attention check (num_nulls(attention_reason, attention_at) <> 1),
  constraint runs_quarantine check (num_nulls(quarantine_reason, quarantined_at) <> 1)
);
create index runs_newest on ghouls.runs (tenant_id, created_at desc, run_id desc);
create index runs_by_status on ghouls.runs (tenant_id, status, created_at desc, run_id desc);
create index runs_by_workflow on ghouls.runs (tenant_id, workflow_name, created_at desc, run_id desc);
create index runs_with_attention on ghouls.runs (tenant_id, created_at desc, run_id desc)
  where attention_at is not null or quarantined_at is not null;

create table ghouls.deliveries (
  tenant_id text not null,
  run_id uuid not null,
  seq integer not null check (seq >= 1),
  cause text not null check (cause in ('admitted', 'resumed', 'continued', 'recovered', 'contain')),
  status text not null check (status in ('HELD', 'PENDING', 'CLAIMED', 'SETTLED', 'FENCED')),
  outcome text check (outcome in ('done', 'failed', 'parked', 'continued', 'lost', 'given_back',
    'refused')),
  queue text not null,
  priority smallint not null,
  checkpoint_generation integer,
  due_at timestamptz not null,
  hold_expires_at timestamptz,
  publications integer not null default 0,
  publication_failures integer not null default 0,
  publication_error text,
  published_at timestamptz,
  next_publication_at timestamptz,
  token uuid,
  claimed_by text,
  claimed_at timestamptz,
  lease_until timestamptz,
  acts_until timestamptz,
  worker_ended_at timestamptz,
  worker_end text,
  created_at timestamptz not null,
  settled_at timestamptz,
  fenced_at timestamptz,
  primary key (tenant_id, run_id, seq),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint deliveries_held check (status <> 'HELD' or hold_expires_at is not null),
  constraint deliveries_unclaimed check (status not in ('HELD', 'PENDING') or token is null),
  constraint deliveries_claimed check (num_nulls(token, claimed_by, claimed_at, lease_until) in (0, 4)
    and (status not in ('CLAIMED', 'SETTLED') or token is not null)),
  constraint deliveries_settled check ((status = 'SETTLED') = (settled_at is not null)
    and (settled_at is null) = (outcome is null)),
  constraint deliveries_fenced check ((status = 'FENCED') = (fenced_at is not null)),
  constraint deliveries_worker_end check (num_nulls(worker_ended_at, worker_end) <> 1)
);
create unique index deliveries_one_open on ghouls.deliveries (tenant_id, run_id)
  where status in ('HELD', 'PENDING', 'CLAIMED');
create index deliveries_publishable on ghouls.deliveries (priority, next_publication_at)
  where status = 'PENDING';
create index deliveries_by_worker on ghouls.deliveries (claimed_by) where status = 'CLAIMED';
create index deliveries_by_lease on ghouls.deliveries (lease_until) where status = 'CLAIMED';

create table ghouls.journal (
  tenant_id text not null,
  run_id uuid not null,
  ordinal integer not null check (ordinal >= 1),
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  outcome text not null check (outcome in ('ok', 'error')),
  result_text text,
  result_digest text,
  tries integer not null,
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  completed_at timestamptz not null,
  primary key (tenant_id, run_id, ordinal),
  constraint journal_call unique (tenant_id, run_id, epoch, scope, kind, name, nth),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint journal_result check (result_text is null or result_digest is not null)
);

create function ghouls.keep_terminal_run() returns trigger
  language plpgsql
  as $function$
declare
  allowed ghouls.runs%rowtype := new;
begin
  allowed.attention_reason := old.attention_reason;
  allowed.attention_at := old.attention_at;
  allowed.quarantine_reason := old.quarantine_reason;
  allowed.quarantined_at := old.quarantined_at;
  if new.input_text is null then allowed.input_text := old.input_text; end if;
  if new.output_text is null then allowed.output_text := old.output_text; end if;
  if new.error_text is null then allowed.error_text := old.error_text; end if;
  if allowed is distinct from old then
    raise exception 'a terminal run does not change' using errcode = 'GH001';
  end if;
  return new;
end
$function$;
create trigger keep_terminal_run before update on ghouls.runs
  for each row when (old.status in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.keep_terminal_run();
`};var Js={number:2,name:"containment",sql:`
alter table ghouls.runs
  add column on_worker_loss text not null default 'fail' check (on_worker_loss in ('resume', 'fail')),
  add column losses integer not null default 0 check (losses >= 0),
  add column idle_yields integer not null default 0 check (idle_yields >= 0),
  add column generation integer not null default 0 check (generation >= 0),
  add column open_items integer not null default 0 check (open_items >= 0),
  add column cancel_reason text,
  add column cancelled_by text,
  add constraint runs_contained check (status not in ('DONE', 'FAILED', 'CANCELLED') or open_items = 0);

create index runs_endable on ghouls.runs (created_at)
  where status in ('COMPLETING', 'FAILING', 'CANCELLING') and open_items = 0;

create table ghouls.checkpoints (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  workflow_digest text not null,
  journal_length integer not null,
  journal_digest text not null,
  created_at timestamptz not null,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);

create table ghouls.containment_items (
  tenant_id text not null,
  run_id uuid not null,
  kind text not null check (kind in ('worker', 'effect')),
  key text not null,
  seq integer not null,
  token uuid not null,
  worker text not null,
  over_at timestamptz,
  created_at timestamptz not null,
  next_look_at timestamptz not null,
  tries integer not null default 0,
  last_error text,
  acknowledged_at timestamptz,
  acknowledged_by text,
  acknowledgement text,
  primary key (tenant_id, run_id, kind, key),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint containment_items_acknowledged check (num_nulls(acknowledged_at, acknowledged_by) <> 1)
);
comment on column ghouls.containment_items.over_at is
  'When nothing of it can still act; null where only its worker, a supervisor or an operator can tell.';
create index containment_items_due on ghouls.containment_items (next_look_at) where acknowledged_at is null;
create index containment_items_by_worker on ghouls.containment_items (worker)
  where acknowledged_at is null and kind = 'worker';

create table ghouls.intents (
  tenant_id text not null,
  run_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  number integer not null check (number >= 1),
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  outcome text check (outcome in ('happened', 'not_done', 'cannot_happen', 'failed', 'resolved')),
  outcome_at timestamptz,
  primary key (tenant_id, run_id, epoch, scope, kind, name, nth, number),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint intents_outcome check (num_nulls(outcome, outcome_at) <> 1)
);
comment on table ghouls.intents is 'An effect that happens once: committed before its call. Without an outcome nobody knows.';
create unique index intents_one_open on ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth)
  where outcome is null;

create table ghouls.evidence (
  tenant_id text not null,
  run_id uuid not null,
  evidence_id uuid not null,
  class text not null check (class in ('rejected')),
  seq integer not null,
  token uuid not null,
  call text not null,
  outcome text not null,
  body_text text,
  body_digest text,
  recorded_at timestamptz not null,
  primary key (tenant_id, run_id, evidence_id)
);
comment on table ghouls.evidence is
  'What came from a worker that had been fenced. Written without the lock of its run, so it has no reference to it.';

create table ghouls.audit (
  tenant_id text not null,
  run_id uuid not null,
  audit_id uuid not null,
  actor text not null,
  act text not null,
  subject text not null,
  reason text not null,
  at timestamptz not null,
  primary key (tenant_id, run_id, audit_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id)
);
comment on table ghouls.audit is 'Operators acts, append only.';
`};var Vs={number:3,name:"doctor",sql:`
create view ghouls.doctor_open_deliveries as
select d.tenant_id, d.run_id, d.seq, d.status as delivery_status, d.cause, run.status as run_status
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and (d.seq <> run.enqueue_seq or not (
  (d.status in ('HELD', 'PENDING') and run.status = 'QUEUED')
  or (d.status = 'CLAIMED' and run.status in ('RUNNING', 'AWAITING_HARDWARE'))
  or (d.cause = 'contain' and run.status in ('COMPLETING', 'FAILING', 'CANCELLING'))));

create view ghouls.doctor_working_runs as
select run.tenant_id, run.run_id, run.status, run.enqueue_seq
from ghouls.runs run
where run.status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq and d.status in ('HELD', 'PENDING', 'CLAIMED'));

create view ghouls.doctor_terminal_runs as
select run.tenant_id, run.run_id, run.status, d.seq, null::text as item, null::text as effect
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, i.kind || ' ' || i.key, null
from ghouls.containment_items i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.acknowledged_at is null and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, null, i.name
from ghouls.intents i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.outcome is null and run.status in ('DONE', 'FAILED', 'CANCELLED');

create view ghouls.doctor_pending_deliveries as
select d.tenant_id, d.run_id, d.seq, d.due_at
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'PENDING' and d.next_publication_at is null and run.paused_at is null and run.quarantined_at is null;

create view ghouls.doctor_journals as
select run.tenant_id, run.run_id, run.status, run.journal_length, count(j.ordinal) as entries
from ghouls.runs run
left join ghouls.journal j on j.tenant_id = run.tenant_id and j.run_id = run.run_id
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(j.ordinal) <> run.journal_length;

create view ghouls.doctor_open_items as
select run.tenant_id, run.run_id, run.status, run.open_items, count(i.key) as items
from ghouls.runs run
left join ghouls.containment_items i
  on i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(i.key) <> run.open_items;

create view ghouls.doctor_endings as
select run.tenant_id, run.run_id, run.status, run.open_items
from ghouls.runs run
where run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and run.open_items = 0
  and (run.quarantined_at is null or run.status = 'CANCELLING') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED');

create view ghouls.doctor_lost_claims as
select d.tenant_id, d.run_id, d.seq, d.claimed_by, d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end
from ghouls.deliveries d
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() - interval '5 minutes';

create view ghouls.doctor_quarantined_runs as
select run.tenant_id, run.run_id, run.status, run.quarantine_reason, run.quarantined_at
from ghouls.runs run
where run.quarantined_at is not null;

create view ghouls.doctor_runs_with_attention as
select run.tenant_id, run.run_id, run.status, run.attention_reason, run.attention_at
from ghouls.runs run
where run.attention_at is not null and run.status not in ('DONE', 'FAILED', 'CANCELLED');
`};var Qs={number:4,name:"holds",sql:`
create index deliveries_by_hold on ghouls.deliveries (hold_expires_at) where status = 'HELD';
`};var Ys={number:5,name:"overlap",sql:`
alter table ghouls.runs add column workflow_absent_since timestamptz;
comment on column ghouls.runs.workflow_absent_since is
  'The first give-back in a row by a build without the workflow of this run; null once a hop has started.';
`};var Xs={number:6,name:"keys",sql:`
create table ghouls.api_keys (
  tenant_id text not null check (tenant_id <> ''),
  key_id text not null check (key_id <> ''),
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  subject text not null check (subject <> ''),
  roles text[] not null,
  permissions text[] not null,
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  revocation_reason text,
  primary key (tenant_id, key_id),
  constraint api_keys_key_id_key unique (key_id),
  constraint api_keys_revoked check (num_nulls(revoked_at, revoked_by, revocation_reason) in (0, 3))
);
comment on table ghouls.api_keys is
  'A row stays when its key has ended, and tells who made and who revoked it. The application only reads it and says when a key was used.';
comment on column ghouls.api_keys.digest is 'SHA-256 of the text of the key, which is nowhere else.';
comment on column ghouls.api_keys.last_used_at is 'To the hour: not written at every request.';
`};var Zs={number:7,name:"waits",sql:`
alter table ghouls.runs
  add column epoch integer not null default 0 check (epoch >= 0),
  add column journal_start integer not null default 0 check (journal_start >= 0);
comment on column ghouls.runs.epoch is 'How often the run has continued as new.';
comment on column ghouls.runs.journal_start is 'The journal of this epoch begins behind this ordinal.';
create index runs_by_deadline on ghouls.runs (deadline_at, run_id)
  where deadline_at is not null and status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER');

create table ghouls.waits (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  closed_by uuid,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);
create unique index waits_one_open on ghouls.waits (tenant_id, run_id) where closed_at is null;

create table ghouls.arms (
  tenant_id text not null,
  run_id uuid not null,
  arm_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  owner text not null check (owner in ('consent', 'signal', 'timer')),
  generation integer not null,
  seq integer not null,
  due_at timestamptz,
  tries integer check (tries >= 1),
  created_at timestamptz not null,
  closed_at timestamptz,
  closing text check (closing in ('fact', 'step', 'restart', 'ended')),
  primary key (tenant_id, run_id, arm_id),
  constraint arms_arm_id_key unique (arm_id),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint arms_closed check (num_nulls(closed_at, closing) <> 1),
  constraint arms_timer check (owner <> 'timer' or due_at is not null),
  constraint arms_retry check ((kind = 'step') = (tries is not null))
);
comment on column ghouls.arms.generation is 'Of the wait that holds it, or that held it last.';
comment on column ghouls.arms.due_at is 'When its time is over; null where it has none.';
create unique index arms_one_open on ghouls.arms (tenant_id, run_id, epoch, scope, kind, name, nth)
  where closed_at is null;
create index arms_due on ghouls.arms (due_at, run_id) where closed_at is null and due_at is not null;

create table ghouls.consents (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  arm_id uuid not null,
  status text not null check (status in ('PENDING', 'GRANTED', 'DENIED', 'EXPIRED', 'CANCELLED')),
  title text not null,
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  deciders text[] not null check (cardinality(deciders) >= 1),
  quorum integer not null check (quorum >= 1),
  requester_may_decide boolean not null,
  on_expiry text not null check (on_expiry in ('expire', 'grant', 'deny')),
  source text,
  next_look_at timestamptz,
  looks integer not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, consent_id),
  constraint consents_consent_id_key unique (consent_id),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint consents_closed check ((status = 'PENDING') = (closed_at is null) and num_nulls(closed_at, closed_by) <> 1),
  constraint consents_source check (source is null or status <> 'PENDING' or next_look_at is not null)
);
create unique index consents_of_arm on ghouls.consents (tenant_id, run_id, arm_id);
create index consents_newest on ghouls.consents (tenant_id, created_at desc, consent_id desc);
create index consents_pending on ghouls.consents (tenant_id, created_at desc, consent_id desc) where status = 'PENDING';
create index consents_to_look_up on ghouls.consents (next_look_at, run_id)
  where status = 'PENDING' and source is not null;

create table ghouls.consent_decisions (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  subject text not null,
  verdict text not null check (verdict in ('grant', 'deny')),
  comment_text text,
  comment_digest text,
  decided_at timestamptz not null,
  primary key (tenant_id, run_id, consent_id, subject),
  foreign key (tenant_id, run_id, consent_id) references ghouls.consents (tenant_id, run_id, consent_id),
  constraint consent_decisions_comment check (comment_text is null or comment_digest is not null)
);

create table ghouls.signals (
  tenant_id text not null,
  run_id uuid not null,
  signal_id uuid not null,
  name text not null,
  idempotency_key text,
  request_digest text not null,
  payload_text text,
  payload_digest text,
  sent_by text not null,
  received_at timestamptz not null,
  consumed_at timestamptz,
  consumed_by uuid,
  primary key (tenant_id, run_id, signal_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint signals_idempotency_key unique (tenant_id, run_id, idempotency_key),
  constraint signals_consumed check (num_nulls(consumed_at, consumed_by) <> 1),
  constraint signals_payload check (payload_text is null or payload_digest is not null)
);
create index signals_buffered on ghouls.signals (tenant_id, run_id, name, received_at, signal_id)
  where consumed_at is null;

create function ghouls.close_waits() returns trigger
  language plpgsql
  as $function$
begin
  update ghouls.consents set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run'
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'PENDING';
  update ghouls.arms set closed_at = ghouls.clock(), closing = 'ended'
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  update ghouls.waits set closed_at = ghouls.clock()
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  return null;
end
$function$;
create trigger close_waits after update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_waits as
select run.tenant_id, run.run_id, run.status, run.generation,
  (select count(*) from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
    and w.generation = run.generation and w.closed_at is null) as waits,
  (select count(*) from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
    and a.generation = run.generation and a.closed_at is null) as arms,
  (select count(*) from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
    and c.generation = run.generation) as checkpoints
from ghouls.runs run
where run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not (
    exists (select from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
      and w.generation = run.generation and w.closed_at is null)
    and exists (select from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
      and a.generation = run.generation and a.closed_at is null)
    and exists (select from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
      and c.generation = run.generation));

create view ghouls.doctor_ended_waits as
select run.tenant_id, run.run_id, run.status, w.generation, null::uuid as arm_id, null::uuid as consent_id
from ghouls.waits w
join ghouls.runs run on run.tenant_id = w.tenant_id and run.run_id = w.run_id
where w.closed_at is null
  and run.status not in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select run.tenant_id, run.run_id, run.status, a.generation, a.arm_id, null
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null
  and run.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
union all
select a.tenant_id, a.run_id, null, a.generation, a.arm_id, c.consent_id
from ghouls.consents c
join ghouls.arms a on a.tenant_id = c.tenant_id and a.run_id = c.run_id and a.arm_id = c.arm_id
where c.status = 'PENDING' and a.closed_at is not null;
`};var ea={number:8,name:"starts",sql:`
alter table ghouls.runs add column starts_at timestamptz;
comment on column ghouls.runs.starts_at is
  'What now() of its code begins with: the start that it was given, its release from hold, or its last restart; null: its admission.';
`};var ta={number:9,name:"attempts",sql:`
alter table ghouls.arms drop constraint arms_owner_check;
alter table ghouls.arms add constraint arms_owner_check check (owner in ('consent', 'delegate', 'signal', 'timer'));
alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt'));

create table ghouls.attempts (
  tenant_id text not null,
  run_id uuid not null,
  attempt_id uuid not null,
  arm_id uuid not null,
  call_key text not null,
  status text not null check (status in ('DEFINED', 'SUBMITTING', 'SUBMITTED', 'RUNNING', 'UNCERTAIN', 'SUCCEEDED',
    'FAILED', 'CANCELLED')),
  service text not null,
  adapter text not null,
  adapter_version text not null,
  service_digest text not null,
  lookup text not null check (lookup in ('authoritative', 'advisory', 'none')),
  submit text not null check (submit in ('idempotent', 'once')),
  cancel text not null check (cancel in ('final', 'advisory', 'none')),
  delay_seconds double precision not null check (delay_seconds >= 0),
  poll_seconds double precision check (poll_seconds > 0),
  heartbeat_seconds double precision check (heartbeat_seconds > 0),
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  idempotency_key text not null,
  token uuid,
  submitter text,
  sends_until timestamptz,
  submissions integer not null default 0 check (submissions >= 0),
  acknowledged_at timestamptz,
  callback_digest text,
  callback_expires_at timestamptz,
  callback_used_at timestamptz,
  heartbeat_at timestamptz,
  deadline_at timestamptz,
  cancel_asked_at timestamptz,
  cancel_reason text check (cancel_reason in ('deadline', 'ended', 'restart')),
  next_look_at timestamptz,
  looks integer not null default 0 check (looks >= 0),
  misses integer not null default 0 check (misses >= 0),
  uncertain_reason text,
  unsent boolean not null default false,
  trouble text,
  trouble_at timestamptz,
  report_text text,
  report_digest text,
  contradiction text,
  created_at timestamptz not null,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, attempt_id),
  constraint attempts_attempt_id_key unique (attempt_id),
  constraint attempts_idempotency_key unique (tenant_id, idempotency_key),
  constraint attempts_of_call unique (tenant_id, run_id, call_key),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint attempts_closed check (
    (status in ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (closed_at is not null)
    and num_nulls(closed_at, closed_by) <> 1),
  constraint attempts_sent check (
    (submissions > 0) = (token is not null) and num_nulls(token, sends_until, submitter) in (0, 3)
    and (status in ('DEFINED', 'CANCELLED') or token is not null) and (status <> 'DEFINED' or token is null)),
  constraint attempts_looked_at check (
    (status in ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (next_look_at is null)),
  constraint attempts_report check (
    (status in ('SUCCEEDED', 'FAILED')) = (report_digest is not null)
    and (report_text is null or report_digest is not null)),
  constraint attempts_uncertain check ((status = 'UNCERTAIN') = (uncertain_reason is not null)),
  constraint attempts_cancel check (num_nulls(cancel_asked_at, cancel_reason) <> 1),
  constraint attempts_trouble check (num_nulls(trouble, trouble_at) <> 1)
);
comment on table ghouls.attempts is 'ServiceJobAttempt: one delegated job at another service.';
comment on column ghouls.attempts.sends_until is
  'The latest moment at which whoever holds the token, or held it last, can still send.';
comment on column ghouls.attempts.service_digest is 'Of what identifies its service: the executor that was meant.';
comment on column ghouls.attempts.unsent is
  'Whoever holds the token says that nothing of its submission was sent.';
comment on column ghouls.attempts.trouble is 'Why the last question came to nothing.';
create unique index attempts_of_arm on ghouls.attempts (tenant_id, run_id, arm_id);
create index attempts_newest on ghouls.attempts (tenant_id, created_at desc, attempt_id desc);
create index attempts_due on ghouls.attempts (next_look_at, run_id)
  where status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
create index attempts_by_submitter on ghouls.attempts (submitter) where status = 'SUBMITTING';

create function ghouls.contain_attempts() returns trigger
  language plpgsql
  as $function$
declare
  acting integer;
begin
  update ghouls.attempts set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run',
      next_look_at = null
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'DEFINED';
  update ghouls.attempts set next_look_at = ghouls.clock(), looks = 0,
      cancel_asked_at = coalesce(cancel_asked_at, ghouls.clock()), cancel_reason = coalesce(cancel_reason, 'ended')
    where tenant_id = new.tenant_id and run_id = new.run_id and status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select a.tenant_id, a.run_id, 'attempt', a.call_key, arm.seq, a.token, 'service ' || a.service, ghouls.clock(),
      ghouls.clock()
    from ghouls.attempts a
    join ghouls.arms arm on arm.tenant_id = a.tenant_id and arm.run_id = a.run_id and arm.arm_id = a.arm_id
    where a.tenant_id = new.tenant_id and a.run_id = new.run_id
      and a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
  get diagnostics acting = row_count;
  if acting > 0 then
    new.open_items := new.open_items + acting;
    if new.status in ('DONE', 'FAILED') then
      new.status := case new.status when 'DONE' then 'COMPLETING' else 'FAILING' end;
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_attempts before update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_attempts();

create view ghouls.doctor_attempts as
select run.tenant_id, run.run_id, run.status, a.attempt_id, a.status as attempt_status
from ghouls.attempts a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED')
  and (run.status in ('DONE', 'FAILED', 'CANCELLED')
    or (run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.kind = 'attempt' and i.key = a.call_key
        and i.acknowledged_at is null)))
union all
select run.tenant_id, run.run_id, run.status, a.attempt_id, a.status
from ghouls.attempts a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
join ghouls.arms arm on arm.tenant_id = a.tenant_id and arm.run_id = a.run_id and arm.arm_id = a.arm_id
where a.status in ('SUCCEEDED', 'FAILED', 'CANCELLED') and arm.closed_at is null and run.quarantined_at is null
  and run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select i.tenant_id, i.run_id, null, null, i.key
from ghouls.containment_items i
where i.kind = 'attempt' and i.acknowledged_at is null and not exists (
  select from ghouls.attempts a
  where a.tenant_id = i.tenant_id and a.run_id = i.run_id and a.call_key = i.key
    and a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED'));

create view ghouls.doctor_contradicted_attempts as
select a.tenant_id, a.run_id, a.attempt_id, a.status, a.contradiction
from ghouls.attempts a
where a.contradiction is not null;
`};var na={number:10,name:"children",sql:`
alter table ghouls.arms drop constraint arms_owner_check;
alter table ghouls.arms add constraint arms_owner_check
  check (owner in ('consent', 'delegate', 'child', 'signal', 'timer'));
alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt', 'child'));

alter table ghouls.runs
  add column parent_run_id uuid,
  add column parent_arm_id uuid,
  add column parent_close text check (parent_close in ('cancel', 'wait', 'abandon')),
  add column children integer not null default 0 check (children >= 0),
  add constraint runs_parent check (num_nulls(parent_run_id, parent_arm_id, parent_close) in (0, 3));
comment on column ghouls.runs.parent_arm_id is 'The arm on which its parent waits for it.';
comment on column ghouls.runs.parent_close is 'What becomes of it when its parent ends.';
comment on column ghouls.runs.children is 'How many runs it has started.';
create unique index runs_of_arm on ghouls.runs (tenant_id, parent_run_id, parent_arm_id)
  where parent_run_id is not null;

create table ghouls.child_ends (
  tenant_id text not null,
  run_id uuid not null,
  parent_run_id uuid not null,
  ended_at timestamptz not null,
  primary key (tenant_id, run_id)
);
comment on table ghouls.child_ends is
  'Children that have ended, until their parents know. Written under the lock of the child alone, so it has no reference to either.';
create index child_ends_due on ghouls.child_ends (ended_at, run_id);

create function ghouls.tell_parent() returns trigger
  language plpgsql
  as $function$
begin
  insert into ghouls.child_ends (tenant_id, run_id, parent_run_id, ended_at)
    values (new.tenant_id, new.run_id, new.parent_run_id, new.finished_at)
    on conflict (tenant_id, run_id) do nothing;
  return null;
end
$function$;
create trigger tell_parent after update of status on ghouls.runs
  for each row when (new.parent_run_id is not null
    and new.status in ('DONE', 'FAILED', 'CANCELLED') and old.status not in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.tell_parent();

create function ghouls.contain_children() returns trigger
  language plpgsql
  as $function$
declare
  acting integer;
begin
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select child.tenant_id, child.parent_run_id, 'child', child.run_id::text, arm.seq, child.run_id,
      'run ' || child.run_id, ghouls.clock(), ghouls.clock()
    from ghouls.runs child
    join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id
      and arm.arm_id = child.parent_arm_id
    where child.tenant_id = new.tenant_id and child.parent_run_id = new.run_id and child.parent_close <> 'abandon'
      and child.status not in ('DONE', 'FAILED', 'CANCELLED')
    on conflict (tenant_id, run_id, kind, key) do nothing;
  get diagnostics acting = row_count;
  if acting > 0 then
    new.open_items := new.open_items + acting;
    if new.status in ('DONE', 'FAILED') then
      new.status := case new.status when 'DONE' then 'COMPLETING' else 'FAILING' end;
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_children before update of status on ghouls.runs
  for each row when (new.children > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_children();

drop trigger close_waits on ghouls.runs;
create trigger close_waits after update of status on ghouls.runs
  for each row when ((new.generation > 0 or new.children > 0)
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_children as
select parent.tenant_id, parent.run_id, parent.status, child.run_id as child_run_id, child.status as child_status
from ghouls.runs child
join ghouls.runs parent on parent.tenant_id = child.tenant_id and parent.run_id = child.parent_run_id
where child.parent_close <> 'abandon' and child.status not in ('DONE', 'FAILED', 'CANCELLED')
  and parent.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
  and not exists (
    select from ghouls.containment_items i
    where i.tenant_id = child.tenant_id and i.run_id = parent.run_id and i.kind = 'child' and i.key = child.run_id::text
      and i.acknowledged_at is null)
union all
select parent.tenant_id, parent.run_id, parent.status, child.run_id, child.status
from ghouls.runs child
join ghouls.runs parent on parent.tenant_id = child.tenant_id and parent.run_id = child.parent_run_id
join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id
  and arm.arm_id = child.parent_arm_id
where child.status in ('DONE', 'FAILED', 'CANCELLED') and arm.closed_at is null and parent.quarantined_at is null
  and parent.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not exists (
    select from ghouls.child_ends e where e.tenant_id = child.tenant_id and e.run_id = child.run_id)
union all
select arm.tenant_id, arm.run_id, null, null, 'arm ' || arm.arm_id
from ghouls.arms arm
where arm.owner = 'child' and arm.closed_at is null and not exists (
  select from ghouls.runs child
  where child.tenant_id = arm.tenant_id and child.parent_run_id = arm.run_id and child.parent_arm_id = arm.arm_id);
`};var ra={number:11,name:"grants",sql:`
create table ghouls.grants (
  tenant_id text not null check (tenant_id <> ''),
  grant_id text not null check (grant_id <> ''),
  name text not null check (name <> ''),
  holder text not null check (holder ~ '^(user|role):.'),
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  revocation_reason text,
  primary key (tenant_id, grant_id),
  constraint grants_grant_id_key unique (grant_id),
  constraint grants_revoked check (num_nulls(revoked_at, revoked_by, revocation_reason) in (0, 3))
);
comment on table ghouls.grants is
  'A row stays when its grant has ended, and tells who made and who revoked it. The application only reads it.';
comment on column ghouls.grants.holder is
  'Of whose runs: "user:<subject>" or "role:<name>", as the admission has recorded them.';
create index grants_live on ghouls.grants (tenant_id, name, holder) where revoked_at is null;
create index api_keys_by_subject on ghouls.api_keys (tenant_id, subject) where revoked_at is null;
`};var oa={number:12,name:"reservations",sql:`
create table ghouls.capacities (
  name text primary key check (name <> ''),
  units integer not null check (units >= 1),
  updated_at timestamptz not null
);
comment on table ghouls.capacities is
  'What runs may reserve units of, as a configuration said last. Belongs to the deployment, so it has no tenant.';
comment on column ghouls.capacities.updated_at is 'When its units changed last: what was granted before may be more.';

alter table ghouls.runs
  add column reservations integer not null default 0 check (reservations >= 0),
  add column holder_key uuid
    generated always as (case when status in ('RUNNING', 'AWAITING_HARDWARE') then run_id end) stored,
  add constraint runs_holder_key unique (tenant_id, holder_key);
comment on column ghouls.runs.reservations is 'How often it has asked for units.';
comment on column ghouls.runs.holder_key is 'Its id while a worker carries it: only then it may hold units, or wait for them.';

create table ghouls.reservations (
  tenant_id text not null,
  run_id uuid not null,
  reservation_id uuid not null,
  epoch integer not null,
  scope text not null,
  name text not null,
  nth integer not null,
  capacity text not null references ghouls.capacities (name),
  units integer not null check (units >= 1),
  seq integer not null,
  token uuid not null,
  holder uuid,
  status text not null check (status in ('WAITING', 'HELD', 'LEFT', 'RELEASED')),
  asked_at timestamptz not null,
  held_at timestamptz,
  left_at timestamptz,
  released_at timestamptz,
  primary key (tenant_id, run_id, reservation_id),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  foreign key (tenant_id, holder) references ghouls.runs (tenant_id, holder_key),
  constraint reservations_holder check (
    (status in ('WAITING', 'HELD')) = (holder is not null) and (holder is null or holder = run_id)),
  constraint reservations_held check (
    (status <> 'WAITING' or held_at is null) and (status not in ('HELD', 'LEFT') or held_at is not null)),
  constraint reservations_left check ((status <> 'LEFT' or left_at is not null)),
  constraint reservations_released check ((status = 'RELEASED') = (released_at is not null))
);
comment on table ghouls.reservations is
  'Units that a claim holds, waits for, or has left: those are in use while the item of its worker is open.';
comment on column ghouls.reservations.asked_at is 'The first ask in a row of its call, over all hops: its place among those that wait.';
create unique index reservations_one_open on ghouls.reservations (tenant_id, run_id, epoch, scope, name, nth)
  where status in ('WAITING', 'HELD');
create index reservations_of_holder on ghouls.reservations (tenant_id, holder) where holder is not null;
create index reservations_in_use on ghouls.reservations (capacity, asked_at, reservation_id) where status <> 'RELEASED';

create function ghouls.leave_reservations() returns trigger
  language plpgsql
  as $function$
begin
  update ghouls.reservations
    set status = case status when 'HELD' then 'LEFT' else 'RELEASED' end, holder = null,
      left_at = case status when 'HELD' then ghouls.clock() end,
      released_at = case status when 'WAITING' then ghouls.clock() end
    where tenant_id = new.tenant_id and holder = new.run_id;
  return new;
end
$function$;
create trigger leave_reservations before update of status on ghouls.runs
  for each row when (new.reservations > 0 and old.status in ('RUNNING', 'AWAITING_HARDWARE')
    and new.status in ('QUEUED', 'COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.leave_reservations();

create view ghouls.units_in_use as
select x.capacity, x.units, x.tenant_id, x.run_id, x.scope, x.name, x.nth, x.seq, x.status, x.held_at as since,
  item.over_at
from ghouls.reservations x
left join ghouls.containment_items item on x.status = 'LEFT' and item.tenant_id = x.tenant_id and item.run_id = x.run_id
  and item.kind = 'worker' and item.key = x.seq::text and item.acknowledged_at is null
where x.status = 'HELD' or item.run_id is not null;
comment on view ghouls.units_in_use is
  'Who holds units, and whose are still in use though their claim is lost: over_at is when nothing of it can act any more.';

create view ghouls.doctor_reservations as
select u.tenant_id, u.run_id, null as status, u.capacity, 'of ' || c.units || ' units more are in use' as problem
from ghouls.units_in_use u
join ghouls.capacities c on c.name = u.capacity
where (select sum(o.units) from ghouls.units_in_use o where o.capacity = u.capacity) > c.units
  and exists (select from ghouls.units_in_use o where o.capacity = u.capacity and o.since > c.updated_at)
union all
select x.tenant_id, x.run_id, run.status, x.capacity, lower(x.status) || ' under a claim that is gone'
from ghouls.reservations x
join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
join ghouls.deliveries d on d.tenant_id = x.tenant_id and d.run_id = x.run_id and d.seq = x.seq
where x.status in ('WAITING', 'HELD') and (d.status <> 'CLAIMED' or d.token is distinct from x.token)
union all
select run.tenant_id, run.run_id, run.status, null, 'its status and what it waits for disagree'
from ghouls.runs run
where run.reservations > 0 and run.status in ('RUNNING', 'AWAITING_HARDWARE')
  and (run.status = 'AWAITING_HARDWARE') <> exists (
    select from ghouls.reservations x
    where x.tenant_id = run.tenant_id and x.holder = run.run_id and x.status = 'WAITING');
`};var Et=[Hs,Js,Vs,Qs,Ys,Xs,Zs,ea,ta,na,ra,oa];var Yf=[re("integrity","open deliveries agree with their run","doctor_open_deliveries"),re("integrity","working runs have an open delivery","doctor_working_runs"),re("integrity","terminal runs have nothing open","doctor_terminal_runs"),re("integrity","pending deliveries have a next publication","doctor_pending_deliveries"),re("integrity","journals are as long as their runs say","doctor_journals"),re("integrity","runs know how many items are open","doctor_open_items"),re("integrity","ending runs have something left to contain","doctor_endings"),re("integrity","a parked run has one open wait with an open arm, and its checkpoint","doctor_waits"),re("integrity","waits, arms and consents are closed with what they belong to","doctor_ended_waits"),re("integrity","attempts end before their run, and what ends brings it back","doctor_attempts"),re("integrity","children end before their parents, and what ends brings them back","doctor_children"),re("integrity","units are held by carried runs only, and no more than there are","doctor_reservations"),re("attention","no service contradicts what it said of a job","doctor_contradicted_attempts"),re("attention","no lost claim waits for its judgement","doctor_lost_claims"),re("attention","no run is quarantined","doctor_quarantined_runs"),re("attention","no open run asks for a person","doctor_runs_with_attention")];function re(t,e,n){return{kind:t,check:e,statement:y(n.replace("_",".").replaceAll("_","-"),`select * from ghouls.${n}
limit 100`)}}s(re,"view");var Xf=y("doctor.schema-version","select coalesce(max(number), 0) as version from ghouls.migrations");async function Mo(t){let[e]=await t.run(Xf,[]);return{applied:Number(e?.version??0),known:Et.at(-1)?.number??0}}s(Mo,"readSchemaVersion");async function ia(t){let e=await Mo(t),n=[{check:"the schema is up to date",kind:"integrity",ok:e.applied===e.known,rows:e.applied===e.known?[]:[e]}];for(let{check:r,kind:o,statement:i}of Yf){let a=await t.run(i,[]);n.push({check:r,kind:o,ok:a.length===0,rows:a})}return n}s(ia,"examine");var Zf=`r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, run.journal_length,
    run.journal_bytes, run.paused_at, run.quarantined_at, run.open_items, run.generation, run.idle_yields
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)`;function M(t){return`${Zf}, held as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.acts_until, r.enqueue_seq, r.queue, r.priority, r.journal_length, r.journal_bytes,
    r.open_items, r.generation, r.idle_yields
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where r.status in (${I(t)}) and (r.quarantined_at is null or r.status = 'CANCELLING')
    and d.status = 'CLAIMED' and d.token = $4
  for update of d
)`}s(M,"heldBy");var j=["RUNNING","AWAITING_HARDWARE"];function Zt(t,e){return sa(t,Ce("run",e))}s(Zt,"runMayBecome");function Kn(t,e){return sa(t,Ce("delivery",e))}s(Kn,"deliveryMayBecome");function sa(t,e){return e.length===0?"false":`${t} in (${I(e)})`}s(sa,"oneOf");var J=["COMPLETING","FAILING","CANCELLING"];var ep=y("runs.lock",`
select run.tenant_id, run.run_id, run.status
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
order by run.run_id
for update of run`);async function N(t,e){let n=await t.run(ep,[e.map(r=>r.tenantId),e.map(r=>r.runId)]);return new Map(n.map(r=>[p(r).text("run_id"),p(r).text("status")]))}s(N,"lockRuns");var tp=h("runs.end-if-contained",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(J)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null)
  for update
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status in (${I(Ao.filter(t=>t!=="CLAIMED"))})
  returning d.run_id
)
update ghouls.runs run
set status = case r.status when 'COMPLETING' then 'DONE' when 'FAILING' then 'FAILED' else 'CANCELLED' end,
  finished_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  and (select count(*) from fenced) >= 0
returning run.status`);async function X(t,e){let[n]=await t.run(tp,[e.tenantId,e.runId]);return n===void 0?null:p(n).text("status")}s(X,"endRunIfContained");var He="json_build_array(i.epoch, i.scope, i.kind, i.name, i.nth)::text";var np=h("deliveries.settle",`
with ${M(j)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $6, settled_at = ghouls.clock()
  from held, r
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
    and (($5 = 'DONE' and ${Zt("r.status","DONE")}) or ($5 = 'FAILED' and ${Zt("r.status","FAILED")}))
  returning t.tenant_id, t.run_id, t.seq, t.claimed_by, t.settled_at
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${He}, i.seq, i.token, settled.claimed_by, settled.settled_at, settled.settled_at
  from settled
  join ghouls.intents i on i.tenant_id = settled.tenant_id and i.run_id = settled.run_id and i.outcome is null
  returning run_id
), left_open as (
  select held.tenant_id, held.run_id, held.open_items + (select count(*) from effect_item)::integer as items
  from held
)
update ghouls.runs run
set status = case when left_open.items = 0 then $5 when $5 = 'DONE' then 'COMPLETING' else 'FAILING' end,
  finished_at = case when left_open.items = 0 then settled.settled_at end,
  open_items = left_open.items,
  output_text = $7, output_digest = $8, error_code = $9, error_text = $10, error_digest = $11
from settled
join left_open on left_open.tenant_id = settled.tenant_id and left_open.run_id = settled.run_id
where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
returning run.status`),rp=h("deliveries.settle-contain",`
with ${M(J)}
update ghouls.deliveries t
set status = 'SETTLED', outcome = $5, settled_at = ghouls.clock()
from held
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and t.cause = 'contain'
returning t.run_id`),op=y("deliveries.state-of-claim",`
select run.status as run_status, d.status as delivery_status, d.outcome, d.token = $4 as mine
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = $3
where run.tenant_id = $1 and run.run_id = $2`),ip=h("runs.quarantine",`
with ${M(j)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.checkpoint_generation, t.settled_at
), queued as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, quarantine_reason = $5, quarantined_at = settled.settled_at
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select queued.tenant_id, queued.run_id, queued.enqueue_seq, 'continued', 'PENDING', queued.queue, queued.priority,
  settled.checkpoint_generation, settled.settled_at, null, settled.settled_at
from queued join settled on settled.tenant_id = queued.tenant_id and settled.run_id = queued.run_id
returning run_id`),sp=h("runs.raise-attention",`
with r as materialized (
  select run.tenant_id, run.run_id from ghouls.runs run where run.tenant_id = $1 and run.run_id = $2 for update
)
update ghouls.runs run
set attention_reason = $3, attention_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and run.attention_at is null
  and run.status not in (${I(be("run"))})
returning run.run_id`);async function aa(t,e,n){let r=n.status==="DONE"?"done":"failed",o=n.status==="DONE"?[n.outputText,n.outputDigest,null,null,null]:[null,null,n.errorCode,n.errorText,n.errorDigest],i=await t.run(np,[...Hn(e),n.status,r,...o]),[a]=i;return a!==void 0?{settled:!0,runStatus:p(a).text("status")}:jo(t,e,r)}s(aa,"settleDeliveryIfClaimed");async function da(t,e,n){return t.transaction("deliveries.settle-contain",async r=>{await N(r,[e]);let i=(await r.run(rp,[...Hn(e),n])).length===1||(await jo(r,e,n)).settled;return{settled:i,ended:i?await X(r,e):null}})}s(da,"settleContainIfClaimed");async function ua(t,e,n){return(await t.run(ip,[...Hn(e),n])).length===1?!0:(await jo(t,e,"given_back")).settled}s(ua,"quarantineRunIfClaimed");async function Bn(t,e,n){return(await t.run(sp,[e.tenantId,e.runId,n])).length===1}s(Bn,"raiseAttention");async function jo(t,e,n){let[r]=await t.run(op,Hn(e));if(r===void 0)return{settled:!1,deliveryStatus:null,runStatus:null};let o=p(r),i=o.text("run_status");return r.mine===!0&&o.textOrNull("outcome")===n?{settled:!0,runStatus:i}:{settled:!1,deliveryStatus:o.text("delivery_status"),runStatus:i}}s(jo,"readClaim");function Hn(t){return[t.tenantId,t.runId,t.seq,t.token]}s(Hn,"keyOf");var dp={micros:"0",runId:"00000000-0000-0000-0000-000000000000"},Q=s(t=>`(extract(epoch from ${t}) * 1000000)::bigint as micros`,"microsOf"),Z=s((t,e,n)=>`(${t}, ${e}) > (timestamptz 'epoch' + $${n}::bigint * interval '1 microsecond', $${n+1}::uuid)`,"behind");function oe(t){let{micros:e,runId:n}=t??dp;return[e,n]}s(oe,"positionOf");function ie(t,e,n){let r=t.length<e?void 0:t.at(-1);return{found:t.map(n),next:r&&{micros:p(r).text("micros"),runId:p(r).text("run_id")}}}s(ie,"pageOf");var Jn=s((t,e,n)=>`($${n}::bigint is null
    or (${t}, ${e}) < (timestamptz 'epoch' + $${n} * interval '1 microsecond', $${n+1}::uuid))`,"olderThan");function Vn(t,e,n,r){let o=t.slice(0,e),i=t.length>e?o.at(-1):void 0;return{shown:o.map(r),next:i&&{micros:p(i).text("micros"),id:p(i).text(n)}}}s(Vn,"newestOf");function Qn(t,{runId:e,status:n},{limit:r,after:o}){return[t,r+1,e??null,n??null,o?.micros??null,o?.id??null]}s(Qn,"newestValues");var De=["AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER"],up=Ke.map(t=>`when '${t}' then '${Ro(t)}'`).join(" "),lp=h("consents.expire",`
with expired as materialized (
  select c.tenant_id, c.run_id, c.consent_id
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.status = 'PENDING' and c.expires_at <= ghouls.clock()
  order by c.consent_id
  for update
)
update ghouls.consents c
set status = case c.on_expiry ${up} end, closed_at = ghouls.clock(), closed_by = 'expiry'
from expired
where c.tenant_id = expired.tenant_id and c.run_id = expired.run_id and c.consent_id = expired.consent_id
returning c.consent_id`),cp=y("arms.facts",`
select a.arm_id, a.owner, a.kind, coalesce(a.due_at <= ghouls.clock(), false) as due, c.consent_id, c.status, c.closed_by,
  (select json_agg(json_build_object('by', s.subject, 'verdict', s.verdict, 'at', floor(extract(epoch from s.decided_at) * 1000), 'comment', s.comment_text) order by s.decided_at, s.subject)
    from ghouls.consent_decisions s
    where s.tenant_id = c.tenant_id and s.run_id = c.run_id and s.consent_id = c.consent_id)::text as decisions,
  (select json_agg(json_build_object('signalId', s.signal_id, 'from', s.sent_by, 'at', floor(extract(epoch from s.received_at) * 1000), 'payload', s.payload_text) order by s.received_at, s.signal_id)
    from (
      select b.* from ghouls.signals b
      where b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name and b.consumed_at is null
      order by b.received_at, b.signal_id
      limit 10
    ) s
    where a.owner = 'signal')::text as signals,
  t.attempt_id, t.status as attempt_status, t.report_text, t.report_digest,
  coalesce(t.cancel_reason = 'deadline', false) as attempt_overdue, child.run_id as child_run_id, child.status as child_status,
  case child.status when 'DONE' then child.output_text when 'FAILED' then child.error_text end as child_text,
  case child.status when 'DONE' then child.output_digest when 'FAILED' then child.error_digest end as child_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by coalesce(c.closed_at, t.closed_at, child.finished_at, (
    select min(b.received_at) from ghouls.signals b
    where a.owner = 'signal' and b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name
      and b.consumed_at is null), a.due_at, a.created_at), a.created_at, a.arm_id`),mp=h("arms.close",`
with r as materialized (
  select run.tenant_id, run.run_id, run.journal_length
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), closed as (
  update ghouls.arms a
  set closed_at = ghouls.clock(), closing = 'fact'
  from r
  where a.tenant_id = r.tenant_id and a.run_id = r.run_id and a.arm_id = $4 and a.closed_at is null
  returning a.tenant_id, a.run_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.created_at
), consumed as (
  update ghouls.signals s
  set consumed_at = ghouls.clock(), consumed_by = $4
  from closed
  where s.tenant_id = closed.tenant_id and s.run_id = closed.run_id and s.signal_id = $5::uuid and s.consumed_at is null
  returning s.run_id
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at)
  select closed.tenant_id, closed.run_id, r.journal_length + 1, closed.epoch, closed.scope, closed.kind, closed.name, closed.nth,
    'ok', $6, $7, 1, d.seq, d.token, date_trunc('milliseconds', closed.created_at), date_trunc('milliseconds', ghouls.clock())
  from closed
  join r on r.tenant_id = closed.tenant_id and r.run_id = closed.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where closed.kind <> 'step'
  returning tenant_id, run_id, ordinal
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $8::bigint
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id, run.journal_bytes
)
select closed.kind, (select count(*) from entry)::integer as entries, (select count(*) from consumed)::integer as consumed,
  coalesce((select counted.journal_bytes from counted), 0) as journal_bytes
from closed`),fp=h("runs.resume",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), wait as (
  update ghouls.waits w
  set closed_at = ghouls.clock(), closed_by = $3::uuid
  from r
  where w.tenant_id = r.tenant_id and w.run_id = r.run_id and w.generation = r.generation and w.closed_at is null
    and r.status in (${I(De)}) and r.quarantined_at is null
  returning w.tenant_id, w.run_id, w.generation, w.seq, w.closed_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1
  from wait
  where run.tenant_id = wait.tenant_id and run.run_id = wait.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, wait.generation, wait.seq as parked_seq,
    wait.closed_at
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
    moved.generation, moved.closed_at, moved.closed_at + $4::double precision * interval '1 second', moved.closed_at
  from moved
  returning run_id
)
select moved.enqueue_seq, moved.queue, moved.parked_seq from moved join next on next.run_id = moved.run_id`),pp=y("arms.run-of-arm",`
select a.tenant_id, a.run_id, a.closed_at is null as open,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in
from ghouls.arms a
where a.arm_id = $1`),gp=y("arms.due",`
select a.tenant_id, a.run_id, a.arm_id, extract(epoch from ghouls.clock() - a.due_at)::double precision as late,
  ${Q("a.due_at")}
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null and a.due_at <= ghouls.clock() and run.status in (${I(De)})
  and run.quarantined_at is null and ${Z("a.due_at","a.run_id",2)}
order by a.due_at, a.run_id
limit $1`);async function zo(t,e){await t.run(lp,[e.tenantId,e.runId]);let n=await t.run(cp,[e.tenantId,e.runId]);return $o(n.map(hp))}s(zo,"readClosings");async function Go(t,e,n,r){for(let{armId:o,resultText:i,signalId:a}of r){let[d]=await t.run(mp,[e.tenantId,e.runId,n,o,a??null,i,i===null?null:D(i),i===null?0:Buffer.byteLength(i)]);if(d!==void 0&&p(d).number("journal_bytes")>je)return}}s(Go,"closeArms");async function Ie(t,e,n){let r=await zo(t,e),[o]=r;if(o===void 0)return null;let[i]=await t.run(fp,[e.tenantId,e.runId,o.armId,n]);if(i===void 0)return null;let a=p(i);await Go(t,e,a.number("parked_seq"),r);let{tenantId:d,runId:u}=e;return{tenantId:d,runId:u,enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}}s(Ie,"resumeIfClosed");async function Fo(t,e,n){return t.transaction("runs.resume",async r=>(await N(r,[e])).size===0?null:Ie(r,e,n))}s(Fo,"resumeRun");async function ca(t,e){let[n]=await t.run(pp,[e]);if(n===void 0)return null;let r=p(n);return{tenantId:r.text("tenant_id"),runId:r.text("run_id"),open:r.boolean("open"),dueInSeconds:r.numberOrNull("due_in")}}s(ca,"readRunOfArm");async function ma(t,e,n){let r=await t.run(gp,[e,...oe(n)]);return ie(r,e,o=>{let i=p(o);return{tenantId:i.text("tenant_id"),runId:i.text("run_id"),armId:i.text("arm_id"),lateSeconds:i.number("late")}})}s(ma,"readDueArms");function la(t){return JSON.parse(t).map(n=>({...n,at:new Date(n.at).toISOString()}))}s(la,"dated");function hp(t){let e=p(t),n=e.textOrNull("consent_id"),r=e.textOrNull("attempt_id"),o=e.textOrNull("signals"),i=e.textOrNull("child_run_id");return{armId:e.text("arm_id"),owner:e.text("owner"),due:e.boolean("due"),retry:e.text("kind")==="step",...n===null?{}:{consent:{consentId:n,status:e.text("status"),closedBy:e.textOrNull("closed_by"),decisions:la(e.textOrNull("decisions")??"[]")}},...r===null?{}:{attempt:{attemptId:r,status:e.text("attempt_status"),overdue:e.boolean("attempt_overdue"),report:e.textOrNull("report_text"),digest:e.textOrNull("report_digest")}},...i===null?{}:{child:{runId:i,status:e.text("child_status"),text:e.textOrNull("child_text"),digest:e.textOrNull("child_digest")}},...o===null?{}:{signals:la(o)}}}s(hp,"factOf");var de=be("attempt"),Yn=["SUBMITTED","RUNNING"],fa=`t.tenant_id, t.run_id, t.attempt_id, t.status, t.service, t.adapter, t.adapter_version, t.service_digest,
  t.request_digest, t.idempotency_key, t.submissions, t.uncertain_reason, t.contradiction, t.cancel_reason, t.trouble, t.trouble_at, t.created_at,
  t.acknowledged_at, t.heartbeat_at, t.deadline_at, t.next_look_at, t.closed_at, t.closed_by, a.name, run.workflow_name`,en=`${fa}, t.lookup, t.submit, t.cancel, t.delay_seconds, t.poll_seconds, t.heartbeat_seconds,
  t.stored_digest, t.token, t.looks, t.misses, t.unsent, t.report_digest, t.callback_digest,
  t.cancel_asked_at is not null as cancel_asked, t.callback_used_at is not null as callback_used,
  coalesce(t.callback_expires_at <= ghouls.clock(), false) as callback_expired,
  run.status as run_status, run.attention_at is not null as attended, a.closed_at is null as arm_open,
  a.closed_at is null and a.generation = run.generation and run.quarantined_at is null
    and run.status in (${I(De)}) as parked,
  coalesce(t.sends_until + t.delay_seconds * interval '1 second' < ghouls.clock(), false) as late,
  coalesce(t.deadline_at <= ghouls.clock(), false) as overdue,
  coalesce(t.status in (${I(Yn)})
    and t.heartbeat_at + t.heartbeat_seconds * interval '1 second' <= ghouls.clock(), false) as heart_lapsed`,Uo="t.request_text, t.report_text",pa="null as request_text, null as report_text",It=`from ghouls.attempts t
join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
join ghouls.runs run on run.tenant_id = t.tenant_id and run.run_id = t.run_id`,_p=y("attempts.read",`
select ${en}, ${Uo}
${It}
where t.tenant_id = $1 and t.attempt_id = $2`),wp=y("attempts.read-for-callback",`
select ${en}, ${Uo}
${It}
where t.attempt_id = $1`),kp=y("attempts.lock",`
select ${en}, ${Uo}
${It}
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
for update of t`),bp=y("attempts.due",`
select ${en}, ${pa}, ${Q("t.next_look_at")}
${It}
where t.status not in (${I(de)}) and t.next_look_at <= ghouls.clock()
  and ${Z("t.next_look_at","t.run_id",2)}
order by t.next_look_at, t.run_id
limit $1`),xp=y("attempts.defined-of-run",`
select ${en}, ${pa}
${It}
where t.tenant_id = $1 and t.run_id = $2 and t.status = 'DEFINED'
order by t.created_at, t.attempt_id`),Ep=y("attempts.page",`
select ${fa}, ${Q("t.created_at")}
${It}
where t.tenant_id = $1 and ($3::uuid is null or t.run_id = $3) and ($4::text is null or t.status = $4)
  and ${Jn("t.created_at","t.attempt_id",5)}
order by t.created_at desc, t.attempt_id desc
limit $2`);async function ga(t,e){let[n]=await t.run(_p,[e.tenantId,e.attemptId]);return n===void 0?null:tn(n)}s(ga,"readAttempt");async function ha(t,e){let[n]=await t.run(wp,[e]);return n===void 0?null:tn(n)}s(ha,"readAttemptForCallback");async function Wo(t,e){let[n]=await t.run(kp,[e.tenantId,e.runId,e.attemptId]);return n===void 0?null:tn(n)}s(Wo,"lockAttempt");async function ya(t,e,n){let r=await t.run(bp,[e,...oe(n)]);return ie(r,e,tn)}s(ya,"readDueAttempts");async function _a(t,e){return(await t.run(xp,[e.tenantId,e.runId])).map(tn)}s(_a,"readDefinedAttempts");async function wa(t,e,n,r){let o=await t.run(Ep,Qn(e,n,r)),{shown:i,next:a}=Vn(o,r.limit,"attempt_id",ka);return{attempts:i,next:a}}s(wa,"readAttemptPage");function ka(t){let e=p(t),n=e.dateOrNull("trouble_at");return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),attemptId:e.text("attempt_id"),status:e.text("status"),name:e.text("name"),workflow:e.text("workflow_name"),service:e.text("service"),adapter:e.text("adapter"),adapterVersion:e.text("adapter_version"),serviceDigest:e.text("service_digest"),requestDigest:e.text("request_digest"),idempotencyKey:e.text("idempotency_key"),submissions:e.number("submissions"),uncertainReason:e.textOrNull("uncertain_reason"),contradiction:e.textOrNull("contradiction"),cancelReason:e.textOrNull("cancel_reason"),trouble:n===null?null:{why:e.text("trouble"),at:n},createdAt:e.date("created_at"),acknowledgedAt:e.dateOrNull("acknowledged_at"),heartbeatAt:e.dateOrNull("heartbeat_at"),deadlineAt:e.dateOrNull("deadline_at"),nextLookAt:e.dateOrNull("next_look_at"),closedAt:e.dateOrNull("closed_at"),closedBy:e.textOrNull("closed_by")}}s(ka,"listedOf");function tn(t){let e=p(t);return{...ka(t),traits:{lookup:e.text("lookup"),submit:e.text("submit"),cancel:e.text("cancel"),delaySeconds:e.number("delay_seconds")},pollSeconds:e.numberOrNull("poll_seconds"),heartbeatSeconds:e.numberOrNull("heartbeat_seconds"),requestText:e.textOrNull("request_text")??"",storedDigest:e.text("stored_digest"),token:e.textOrNull("token"),looks:e.number("looks"),misses:e.number("misses"),unsent:e.boolean("unsent"),reportText:e.textOrNull("report_text"),reportDigest:e.textOrNull("report_digest"),callbackDigest:e.textOrNull("callback_digest"),callbackExpired:e.boolean("callback_expired"),callbackUsed:e.boolean("callback_used"),cancelAsked:e.boolean("cancel_asked"),runStatus:e.text("run_status"),attended:e.boolean("attended"),parked:e.boolean("parked"),armOpen:e.boolean("arm_open"),late:e.boolean("late"),overdue:e.boolean("overdue"),heartLapsed:e.boolean("heart_lapsed")}}s(tn,"attemptOf");var Ko="attempt_uncertain:",ba="attempt_contradicted:",vp=h("attempts.calm",`
with asks as materialized (
  (select format($4::text, a.name, t.service, coalesce(t.uncertain_reason, t.trouble)) as reason, 1 as rank
  from ghouls.attempts t
  join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
  where t.tenant_id = $1 and t.run_id = $2
    and (t.status = 'UNCERTAIN' or t.status not in (${I(de)}) and t.misses >= $6)
  order by t.created_at, t.attempt_id
  limit 1)
  union all
  (select format($5::text, a.name, t.service, t.contradiction), 2
  from ghouls.attempts t
  join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
  where t.tenant_id = $1 and t.run_id = $2 and t.contradiction is not null
  order by t.created_at, t.attempt_id
  limit 1)
), reason as (
  select (select left(asks.reason, 1000) from asks order by asks.rank limit 1) as reason
)
update ghouls.runs run
set attention_reason = reason.reason,
  attention_at = case when reason.reason is not null then coalesce(run.attention_at, ghouls.clock()) end
from reason
where run.tenant_id = $1 and run.run_id = $2 and starts_with(run.attention_reason, $3)
returning run.run_id`);async function xa(t,e,n){await Bn(t,e,`${Ko} ${n}`.slice(0,1e3))}s(xa,"askAboutJob");async function vt(t,{tenantId:e,runId:n}){await t.run(vp,[e,n,Ko,`${Ko} nobody knows of the job "%s" at %s: %s`,`${ba} of the job "%s" at %s: %s`,3])}s(vt,"calmIfKnown");function Ea(t){return`${ba} ${t}`}s(Ea,"contradicted");var Ap=h("audit.record",`
insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`);async function Je(t,e,n){await t.run(Ap,[e.tenantId,e.runId,n.actor,n.act,n.subject,n.reason])}s(Je,"recordAudit");var Sp=h("deliveries.yield",`
with ${M(j)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $10, settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1,
    idle_yields = case when $8::boolean then run.idle_yields + 1 else 0 end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, greatest(moved.settled_at, $11::timestamptz),
  case when $11::timestamptz is null then moved.settled_at + $9::double precision * interval '1 second'
    else greatest(moved.settled_at, $11::timestamptz) end,
  moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),Cp=h("deliveries.give-back",`
with ${M(j)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.checkpoint_generation, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1,
    workflow_absent_since = case when $6::boolean then coalesce(run.workflow_absent_since, settled.settled_at)
      else run.workflow_absent_since end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, settled.checkpoint_generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  moved.checkpoint_generation, greatest(ghouls.clock(), $5::timestamptz), greatest(ghouls.clock(), $5::timestamptz),
  ghouls.clock()
from moved
returning seq, queue`),Dp=h("deliveries.due-now",`
with waiting as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  join ghouls.deliveries before on before.tenant_id = d.tenant_id and before.run_id = d.run_id and before.seq = d.seq - 1
  where d.tenant_id = $1 and d.run_id = $2 and d.status = 'PENDING' and before.outcome = 'given_back'
    and d.due_at > ghouls.clock()
  for update of d
)
update ghouls.deliveries d
set due_at = ghouls.clock(), next_publication_at = ghouls.clock()
from waiting
where d.tenant_id = waiting.tenant_id and d.run_id = waiting.run_id and d.seq = waiting.seq
returning d.seq`),Rp=h("runs.clear-absence",`
with ${M(j)}
update ghouls.runs run
set workflow_absent_since = null
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id
returning run.run_id`),$p=h("runs.adopt",`
with ${M(j)}, moved as (
  update ghouls.runs run
  set workflow_version = $6, workflow_digest = $7, workflow_absent_since = null,
    generation = run.generation + case when $8::boolean then 1 else 0 end
  from held
  where run.tenant_id = held.tenant_id and run.run_id = held.run_id and held.journal_length = $9
    and run.workflow_digest = any($5::text[])
  returning run.tenant_id, run.run_id, run.generation, held.seq
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $7, $9, $10, ghouls.clock()
  from moved
  where $8::boolean
  returning tenant_id, run_id, seq, generation
), carried as (
  update ghouls.deliveries d
  set checkpoint_generation = checkpoint.generation
  from checkpoint
  where d.tenant_id = checkpoint.tenant_id and d.run_id = checkpoint.run_id and d.seq = checkpoint.seq
  returning d.seq
)
select moved.run_id, carried.seq from moved left join carried on true`),Op=y("deliveries.handed-over",`
select next.seq, next.queue
from ghouls.deliveries d
join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED' and d.outcome = $5`),Np=y("checkpoints.read",`
select c.generation, c.workflow_digest, c.journal_length, c.journal_digest
from ghouls.checkpoints c
where c.tenant_id = $1 and c.run_id = $2 and c.generation = $3`);async function Xn(t,e,n,{idle:r,publisherGraceSeconds:o,dueAt:i}){let{workflowDigest:a,journalLength:d,journalDigest:u}=n,l=i===void 0?"continued":"given_back",[c]=await t.run(Sp,[...nn(e),a,d,u,r,o,l,i??null]);return c===void 0?Zn(t,e,l):Ve(c)}s(Xn,"yieldDeliveryIfClaimed");async function Ia(t,e,n,r=!1){let[o]=await t.run(Cp,[...nn(e),n,r]);return o===void 0?Zn(t,e,"given_back"):Ve(o)}s(Ia,"giveDeliveryBackIfClaimed");async function va(t,e){return(await t.run(Rp,nn(e))).length===1}s(va,"clearAbsenceIfClaimed");async function Aa(t,e,n,{journalLength:r,journalDigest:o}){return(await t.run($p,[...nn(e),[e.workflow.digest,n.digest],n.version,n.digest,e.checkpointGeneration!==null,r,o])).length===1}s(Aa,"adoptIfClaimed");async function Sa(t,e,n){let[r]=await t.run(Np,[e.tenantId,e.runId,n]);if(r===void 0)return null;let o=p(r);return{workflowDigest:o.text("workflow_digest"),journalLength:o.number("journal_length"),journalDigest:o.text("journal_digest")}}s(Sa,"readCheckpoint");async function Zn(t,e,n){let[r]=await t.run(Op,[...nn(e),n]);return r===void 0?null:Ve(r)}s(Zn,"handedOver");function Ve(t){return{enqueueSeq:p(t).number("seq"),queue:p(t).text("queue")}}s(Ve,"nextOf");function nn(t){return[t.tenantId,t.runId,t.seq,t.token]}s(nn,"keyOf");async function er(t,e){await t.run(Dp,[e.tenantId,e.runId])}s(er,"makeGivenBackDue");var Pp=h("items.acknowledge",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
    and ($7::uuid is null or i.token = $7)
    and not exists (
      select from ghouls.attempts t
      where i.kind = 'attempt' and t.tenant_id = i.tenant_id and t.run_id = i.run_id and t.call_key = i.key
        and t.status not in (${I(de)}) and t.sends_until > ghouls.clock())
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $5, acknowledgement = $6
  from item
  where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
  returning i.tenant_id, i.run_id, i.kind, i.key
), known as (
  update ghouls.intents i
  set outcome = 'resolved', outcome_at = ghouls.clock()
  from acknowledged a
  where a.kind = 'effect' and i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.outcome is null and ${He} = a.key
  returning i.run_id
), job as (
  update ghouls.attempts t
  set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = $5, next_look_at = null, uncertain_reason = null
  from acknowledged a
  where a.kind = 'attempt' and t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.call_key = a.key
    and t.status not in (${I(de)})
  returning t.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged a
where run.tenant_id = a.tenant_id and run.run_id = a.run_id and (select count(*) from known) >= 0
  and (select count(*) from job) >= 0
returning run.open_items`),Tp=y("deliveries.holds",`
select d.seq
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'`),Lp=h("deliveries.over-now",`
update ghouls.deliveries d
set acts_until = least(d.acts_until, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'
returning d.seq`);async function Bo(t,e,n,r){return t.transaction("items.acknowledge",async o=>{await N(o,[e]);let{kind:i,key:a,by:d,words:u,token:l,under:c}=n;if(c!==void 0&&(await o.run(Tp,[c.tenantId,c.runId,c.seq,c.token])).length===0)return null;let[m]=await o.run(Pp,[e.tenantId,e.runId,i,a,d,u,l??null]);if(m===void 0)return null;if(i==="worker"&&await er(o,e),i==="attempt"&&await vt(o,e),r!==void 0){let f=`${i} ${a}`;await Je(o,e,{...r,act:"resolve",subject:f})}return{openItems:p(m).number("open_items"),ended:await X(o,e)}})}s(Bo,"acknowledgeItem");async function Ca(t,e){let n=await Bo(t,e,{kind:"worker",key:String(e.seq),by:"worker",words:"its worker ended the hop: no step is in flight",token:e.token});return n!==null?n:(await t.run(Lp,[e.tenantId,e.runId,e.seq,e.token]),null)}s(Ca,"acknowledgeWorker");var $a=`(case when $11::double precision is null then t.sends_until
    else least(t.sends_until, ghouls.clock() + $11 * interval '1 second') end)`,Da=`${$a} + (t.delay_seconds + 1) * interval '1 second'`,jp=h("attempts.change",`
update ghouls.attempts t
set status = $4,
  report_text = $5, report_digest = $6, uncertain_reason = $7,
  acknowledged_at = case when $8::boolean then coalesce(t.acknowledged_at, ghouls.clock()) else t.acknowledged_at end,
  heartbeat_at = case when $8::boolean then ghouls.clock() else t.heartbeat_at end,
  looks = case when $16::boolean then t.looks when t.status = $4 then t.looks + 1 else 0 end,
  misses = case when $16::boolean then t.misses when $10::boolean then t.misses + 1 else 0 end,
  trouble = case when $10::boolean then coalesce($14, t.trouble) else t.trouble end,
  trouble_at = case when $10::boolean and coalesce($14, t.trouble) is not null then ghouls.clock() else t.trouble_at end,
  unsent = $15::boolean,
  sends_until = ${$a},
  callback_used_at = case when $12::boolean then ghouls.clock() else t.callback_used_at end,
  closed_at = case when $4 in (${I(de)}) then ghouls.clock() end,
  closed_by = case when $4 in (${I(de)}) then $13 end,
  next_look_at = case when $16::boolean then t.next_look_at when $4 not in (${I(de)}) then least(
    ghouls.clock() + $9::double precision * interval '1 second',
    case when $4 in (${I(Yn)}) then
      case when $8::boolean then ghouls.clock() else t.heartbeat_at end + t.heartbeat_seconds * interval '1 second' end,
    case when t.deadline_at > ghouls.clock() then t.deadline_at end,
    case when ($4 not in (${I(Yn)}) or t.cancel_asked_at is not null) and not $15::boolean
      and ${Da} > ghouls.clock() then ${Da} end) end
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
returning t.status`),Oa=h("attempts.cancel",`
update ghouls.attempts t
set cancel_asked_at = coalesce(t.cancel_asked_at, ghouls.clock()), cancel_reason = coalesce(t.cancel_reason, $4)
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
returning t.status`),zp=h("attempts.close-item",`
with acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $4, acknowledgement = $5
  from ghouls.attempts t
  where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
    and i.tenant_id = t.tenant_id and i.run_id = t.run_id and i.kind = 'attempt' and i.key = t.call_key
    and i.acknowledged_at is null
  returning i.tenant_id, i.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged
where run.tenant_id = acknowledged.tenant_id and run.run_id = acknowledged.run_id
returning run.open_items`),Gp=h("attempts.contradict",`
with kept as (
  update ghouls.attempts t
  set contradiction = $4
  where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3 and t.contradiction is null
  returning t.tenant_id, t.run_id
)
update ghouls.runs run
set attention_reason = $5, attention_at = ghouls.clock()
from kept
where run.tenant_id = kept.tenant_id and run.run_id = kept.run_id and run.attention_at is null
returning run.run_id`);async function Na(t,e,n,r,o){return t.transaction("attempts.change",async i=>{await N(i,[e]);let a=await Wo(i,e);if(a===null)return null;let d=n(a);if(d===void 0)return null;if(await Fp(i,a,d),o!==void 0){let f=`attempt ${e.attemptId}`;await Je(i,e,{...o,act:"resolve",subject:f})}let{status:u}=d;if(!de.includes(u))return{status:u,resumption:null,ended:null};let l=`its job is ${u}`;await i.run(zp,[...rn(e),d.by,l]);let c=await X(i,e),m=c===null?await Ie(i,e,r.publisherGraceSeconds):null;return{status:u,resumption:m,ended:c}})}s(Na,"changeAttempt");async function Fp(t,e,n){let{status:r,report:o,by:i,acknowledged:a,missed:d,sentFor:u,usesCallback:l}=n,c=n.why===void 0?void 0:Ra(n.why),{overdue:m,armOpen:f,cancelAsked:g}=e;r==="CANCELLED"&&!g&&(m||!f)&&await t.run(Oa,[...rn(e),m&&f?"deadline":"ended"]),await t.run(jp,[...rn(e),r,o?.reportText??null,o?.reportDigest??null,r==="UNCERTAIN"?e.uncertainReason??c??"unknown":null,a,n.nextLookSeconds,d,u??null,l??!1,i,c??null,n.unsent??(e.unsent&&r===e.status&&!a),n.onlyAlive??!1]);let _=r==="UNCERTAIN"&&e.status!=="UNCERTAIN"?c??"unknown":n.attention;if(_!==void 0){let A=`nobody knows of the job "${e.name}" at ${e.service}: ${Ra(_)}`;await xa(t,e,A)}r!=="UNCERTAIN"&&(a||r!==e.status)&&e.attended&&await vt(t,e)}s(Fp,"write");async function qa(t,e,n){return t.transaction("attempts.cancel",async r=>{await N(r,[e]);let o=await Wo(r,e);return o===null||o.status!==e.status||o.token!==e.token?!1:(await r.run(Oa,[...rn(e),n])).length===1})}s(qa,"askToCancel");async function Pa(t,e,n){await t.transaction("attempts.contradict",async r=>{await N(r,[e]);let o=Ea(`of the job "${e.name}" at ${e.service}: ${n}`);await r.run(Gp,[...rn(e),n.slice(0,1e3),o.slice(0,1e3)])})}s(Pa,"keepContradiction");var Up=1e3;function Ra(t){return t.slice(0,Up).replaceAll("\0","\uFFFD").toWellFormed()}s(Ra,"kept");function rn({tenantId:t,runId:e,attemptId:n}){return[t,e,n]}s(rn,"keyOf");var Kp=["DEFINED","SUBMITTING","UNCERTAIN"],Bp=h("attempts.claim-submission",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), held as materialized (
  select t.tenant_id, t.run_id, t.attempt_id, t.arm_id, t.status, t.token, t.deadline_at, t.cancel_asked_at, t.acknowledged_at,
    r.status as run_status, r.generation, r.quarantined_at
  from r
  join ghouls.attempts t on t.tenant_id = r.tenant_id and t.run_id = r.run_id and t.attempt_id = $3
  for update of t
)
update ghouls.attempts t
set status = 'SUBMITTING', token = $6, submitter = $7, submissions = t.submissions + case when t.unsent then 0 else 1 end,
  sends_until = ghouls.clock() + $8::double precision * interval '1 second',
  callback_digest = $9, callback_used_at = null,
  callback_expires_at = case when $9::text is not null then t.deadline_at + $10::double precision * interval '1 second' end,
  next_look_at = ghouls.clock() + $11::double precision * interval '1 second', looks = case when t.unsent then t.looks else 0 end,
  misses = case when t.unsent then t.misses else 0 end, unsent = false, uncertain_reason = null
from held
join ghouls.arms a on a.tenant_id = held.tenant_id and a.run_id = held.run_id and a.arm_id = held.arm_id
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.attempt_id = held.attempt_id
  and held.status = $4 and held.token is not distinct from $5::uuid
  and held.status in (${I(Kp)})
  and held.acknowledged_at is null and held.cancel_asked_at is null
  and (held.deadline_at is null or held.deadline_at > ghouls.clock())
  and held.run_status in (${I(De)}) and held.quarantined_at is null
  and a.closed_at is null and a.generation = held.generation
returning t.attempt_id`),Hp=h("attempts.submitter-ended",`
with left_behind as materialized (
  select t.tenant_id, t.run_id, t.attempt_id
  from ghouls.attempts t
  where t.submitter = $1 and t.status = 'SUBMITTING'
  order by t.tenant_id, t.run_id, t.attempt_id
  for update skip locked
)
update ghouls.attempts t
set sends_until = least(t.sends_until, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(t.next_look_at, ghouls.clock())
from left_behind
where t.tenant_id = left_behind.tenant_id and t.run_id = left_behind.run_id and t.attempt_id = left_behind.attempt_id
returning t.attempt_id`);async function Ta(t,e,n){return t.transaction("attempts.claim-submission",async r=>(await N(r,[e]),(await r.run(Bp,[e.tenantId,e.runId,e.attemptId,e.status,e.token,n.token,n.submitter,n.sendsForSeconds,n.callbackDigest,n.callbackSeconds,n.nextLookSeconds])).length===0?!1:(await vt(r,e),!0)))}s(Ta,"claimSubmission");async function La(t,e,n){await t.run(Hp,[e,n])}s(La,"recordSubmitterEnd");var Vp=h("deliveries.beat",`
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[]) as q(tenant_id, run_id, seq, token)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq and d.token = q.token
  where d.status = 'CLAIMED'
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $5::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id, d.seq`),Qp=h("deliveries.beat-of-worker",`
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $2::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id`);async function Ma(t,e,n){return(await t.run(Qp,[e,n])).length}s(Ma,"beatOfWorker");async function ja(t,e,n){let r=await t.run(Vp,[e.map(o=>o.tenantId),e.map(o=>o.runId),e.map(o=>o.seq),e.map(o=>o.token),n]);return new Set(r.map(o=>`${p(o).text("run_id")}:${p(o).number("seq")}`))}s(ja,"beatIfClaimed");function tr(t){return`open as materialized (
  select d.tenant_id, d.run_id, d.seq, d.status, d.token, d.claimed_by,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + ${t}::double precision * interval '1 second') end as over_at
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id
  where d.status in ('HELD', 'PENDING', 'CLAIMED')
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from open
  where d.tenant_id = open.tenant_id and d.run_id = open.run_id and d.seq = open.seq
  returning d.run_id
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select open.tenant_id, open.run_id, 'worker', open.seq::text, open.seq, open.token, open.claimed_by, open.over_at,
    ghouls.clock(), coalesce(open.over_at, ghouls.clock())
  from open
  where open.status = 'CLAIMED'
  returning run_id
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${He}, i.seq, i.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.outcome is null
  join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
)`}s(tr,"takenAway");var Xp=h("runs.cancel",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(Ce("run","CANCELLING"))})
  for update
), ${tr("$5")}
update ghouls.runs run
set status = 'CANCELLING', cancelled_by = $3, cancel_reason = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function Ho(t,e,n,r){return t.transaction("runs.cancel",async o=>{let i=(await N(o,[e])).get(e.runId);if(i===void 0)return null;let[a]=await o.run(Xp,[e.tenantId,e.runId,n.actor,n.reason,r]);return a===void 0?{cancelled:!1,status:i}:{cancelled:!0,status:await X(o,e)??p(a).text("status")}})}s(Ho,"cancelRun");var eg=h("evidence.reject",`
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at)
select d.tenant_id, d.run_id, gen_random_uuid(), 'rejected', d.seq, d.token, $5, $6, $7, $8, ghouls.clock()
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`);async function za(t,e,n){let{call:r,outcome:o,bodyText:i,bodyDigest:a}=n;await t.run(eg,[e.tenantId,e.runId,e.seq,e.token,r,o,i,a])}s(za,"recordRejectedResult");var ng=y("arms.of-run",`
select a.arm_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.owner, a.generation, a.seq, a.due_at, a.tries,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in, c.consent_id, t.attempt_id,
  t.status as attempt_status, t.deadline_at, child.run_id as child_run_id,
  coalesce(c.request_digest, t.request_digest, child.request_digest) as request_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by a.created_at, a.arm_id`),rg=y("arms.retries",`
select a.epoch, a.scope, a.kind, a.name, a.nth, max(a.tries) as tries,
  max(a.due_at) filter (where a.closed_at is null) as due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.epoch = $3 and a.kind = 'step'
group by a.epoch, a.scope, a.kind, a.name, a.nth`);async function on(t,e){return(await t.run(ng,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{armId:o.text("arm_id"),call:Fa(r),owner:o.text("owner"),generation:o.number("generation"),seq:o.number("seq"),dueAt:o.dateOrNull("due_at")??o.dateOrNull("deadline_at"),dueInSeconds:o.numberOrNull("due_in"),tries:o.numberOrNull("tries"),consentId:o.textOrNull("consent_id"),attemptId:o.textOrNull("attempt_id"),attemptStatus:o.textOrNull("attempt_status"),childRunId:o.textOrNull("child_run_id"),requestDigest:o.textOrNull("request_digest")}})}s(on,"readOpenArms");async function Ga(t,e,n){return(await t.run(rg,[e.tenantId,e.runId,n])).map(o=>{let i=p(o);return{call:Fa(o),tries:i.number("tries"),dueAt:i.dateOrNull("due_at")}})}s(Ga,"readRetries");function Fa(t){let e=p(t);return{epoch:e.number("epoch"),scope:e.text("scope"),kind:e.text("kind"),name:e.text("name"),nth:e.number("nth")}}s(Fa,"callOf");var Ua=`c.tenant_id, c.run_id, c.consent_id, c.status, c.title, c.request_digest,
  c.deciders, c.quorum, c.requester_may_decide, c.on_expiry, c.source, c.created_at, c.expires_at, c.closed_at, c.closed_by,
  run.workflow_name, run.requested_by`,Jo=`${Ua}, c.request_text, c.stored_digest`,rr=`from ghouls.consents c
join ghouls.runs run on run.tenant_id = c.tenant_id and run.run_id = c.run_id`,ig=y("consents.read",`
select ${Jo}
${rr}
where c.tenant_id = $1 and c.consent_id = $2`),sg=y("consents.decisions",`
select s.subject, s.verdict, s.decided_at, s.comment_text
from ghouls.consent_decisions s
where s.tenant_id = $1 and s.run_id = $2 and s.consent_id = $3
order by s.decided_at, s.subject`),ag=y("consents.page",`
select ${Ua}, ${Q("c.created_at")},
  encode(sha256(convert_to(c.request_text, 'UTF8')), 'hex') = c.stored_digest as intact
${rr}
where c.tenant_id = $1 and ($3::uuid is null or c.run_id = $3) and ($4::text is null or c.status = $4)
  and ${Jn("c.created_at","c.consent_id",5)}
order by c.created_at desc, c.consent_id desc
limit $2`),dg=y("consents.lock",`
select c.status, c.closed_by, c.deciders, c.quorum, c.requester_may_decide, c.request_digest,
  coalesce(c.expires_at <= ghouls.clock(), false) as expired
from ghouls.consents c
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3
for update`),ug=h("consents.decide",`
with word as (
  insert into ghouls.consent_decisions (tenant_id, run_id, consent_id, subject, verdict, comment_text, comment_digest, decided_at)
  select c.tenant_id, c.run_id, c.consent_id, $4, $5, $6, $7, ghouls.clock()
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
  on conflict (tenant_id, run_id, consent_id, subject) do nothing
  returning tenant_id, run_id, consent_id, decided_at
), closed as (
  update ghouls.consents c
  set status = $8, closed_at = word.decided_at, closed_by = $4
  from word
  where $8 <> 'PENDING' and c.tenant_id = word.tenant_id and c.run_id = word.run_id and c.consent_id = word.consent_id
    and c.status = 'PENDING'
  returning c.consent_id
)
select (select count(*) from closed)::integer as closed from word`);async function Wa(t,e,n,r){let o=await nr(t,e);return o===null?null:t.transaction("consents.decide",async i=>{await N(i,[o]);let a=[o.tenantId,o.runId,o.consentId],[d]=await i.run(dg,a);if(d===void 0)return null;let u=p(d),l=Do({status:u.text("status"),closedBy:u.textOrNull("closed_by"),deciders:o.deciders,quorum:o.quorum,requesterMayDecide:o.requesterMayDecide,requestedBy:o.requestedBy,requestDigest:o.requestDigest,expired:u.boolean("expired"),decisions:await Vo(i,o)},n,r.asSource===!0),c=l.kind==="counts"||l.kind==="expired";if(l.kind==="counts"){let{subject:g,verdict:_,commentText:b,commentDigest:A}=n;await i.run(ug,[...a,g,_,b,A,l.becomes])}let m=c?await Ie(i,o,r.publisherGraceSeconds):null,f=c?await nr(i,e)??o:o;return{judgement:l,consent:{...f,status:c?f.status:u.text("status")},resumption:m}})}s(Wa,"decideConsent");async function nr(t,e){let[n]=await t.run(ig,[e.tenantId,e.consentId]);return n===void 0?null:Qo(n)}s(nr,"readConsent");async function Vo(t,e){return(await t.run(sg,[e.tenantId,e.runId,e.consentId])).map(r=>{let o=p(r);return{by:o.text("subject"),verdict:o.text("verdict"),at:o.date("decided_at"),commentText:o.textOrNull("comment_text")}})}s(Vo,"readDecisions");async function Ka(t,e,n,r){let o=await t.run(ag,Qn(e,n,r)),{shown:i,next:a}=Vn(o,r.limit,"consent_id",d=>({...Ba(d),intact:p(d).boolean("intact")}));return{consents:i,next:a}}s(Ka,"readConsentPage");function Qo(t){let e=p(t);return{...Ba(t),requestText:e.text("request_text"),storedDigest:e.text("stored_digest")}}s(Qo,"consentOf");function Ba(t){let e=p(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),consentId:e.text("consent_id"),status:e.text("status"),title:e.text("title"),requestDigest:e.text("request_digest"),deciders:e.texts("deciders"),quorum:e.number("quorum"),requesterMayDecide:e.boolean("requester_may_decide"),onExpiry:e.text("on_expiry"),source:e.textOrNull("source"),workflow:e.text("workflow_name"),requestedBy:e.text("requested_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),closedAt:e.dateOrNull("closed_at"),closedBy:e.textOrNull("closed_by")}}s(Ba,"listedOf");var or=Ce("run","FAILING"),Yo=`(
      select held.status from ghouls.deliveries held
      where held.tenant_id = run.tenant_id and held.run_id = run.run_id and held.seq = run.enqueue_seq
    ) is distinct from 'HELD'`,cg=y("runs.overdue",`
select run.tenant_id, run.run_id, run.status, run.deadline_at, ${Q("run.deadline_at")}
from ghouls.runs run
where run.deadline_at <= ghouls.clock() and run.status in (${I(or)}) and run.quarantined_at is null
  and ${Yo} and ${Z("run.deadline_at","run.run_id",2)}
order by run.deadline_at, run.run_id
limit $1`),mg=h("runs.fail-overdue",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(or)})
    and run.quarantined_at is null and run.deadline_at <= ghouls.clock()
  for update
), ${tr("$5")}
update ghouls.runs run
set status = 'FAILING', error_code = 'deadline', error_text = $3, error_digest = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function Ha(t,e,n){let r=await t.run(cg,[e,...oe(n)]);return ie(r,e,o=>{let i=p(o);return{tenantId:i.text("tenant_id"),runId:i.text("run_id"),status:i.text("status"),deadlineAt:i.date("deadline_at")}})}s(Ha,"readOverdueRuns");async function Ja(t,e,n){return t.transaction("runs.fail-overdue",async r=>{await N(r,[e]);let{tenantId:o,runId:i,errorText:a,errorDigest:d}=e,[u]=await r.run(mg,[o,i,a,d,n]);return u===void 0?null:await X(r,e)??p(u).text("status")})}s(Ja,"failOverdueRun");var pg=y("deliveries.given-back-before",`
select count(*)::integer as times
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq < $3::integer and d.seq >= $3::integer - $4::integer
  and d.outcome = 'given_back'`);async function Va(t,{tenantId:e,runId:n,seq:r},o){let[i]=await t.run(pg,[e,n,r,o]);return i!==void 0&&p(i).number("times")>=o}s(Va,"wereGivenBack");async function At(t,e,n,r){try{return await t.run(n,r)}catch(o){throw!(o instanceof q)||o.sqlState!=="42501"?o:new k("configuration_invalid",`this role may not manage ${e}`,{fix:`Give the connection string of the role that owns the schema (GHOULS_MIGRATION_DATABASE_URL): the application's only reads ${e}.`,cause:o})}}s(At,"asManager");var ir=`g.tenant_id, g.grant_id, g.name, g.holder, g.created_by, g.created_at, g.expires_at, g.revoked_at, g.revoked_by,
  g.revocation_reason, coalesce(g.expires_at <= ghouls.clock(), false) as expired`,hg=y("grants.live",`
select ${ir}
from ghouls.grants g
where g.tenant_id = $1 and g.name = $2 and g.holder = any($3::text[]) and g.revoked_at is null
  and (g.expires_at is null or g.expires_at > ghouls.clock())
order by g.expires_at desc nulls first, g.grant_id
limit 1`),yg=y("grants.by-id",`
select ${ir}
from ghouls.grants g
where g.grant_id = $1`),_g=h("grants.create",`
insert into ghouls.grants (tenant_id, grant_id, name, holder, created_by, created_at, expires_at)
select q.tenant_id, q.grant_id, q.name, q.holder, coalesce(q.created_by, 'database role ' || session_user), ghouls.clock(),
  ghouls.clock() + q.expires_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::double precision[])
  as q(tenant_id, grant_id, name, holder, created_by, expires_ms)
on conflict (grant_id) do nothing`),wg=y("grants.page",`
select ${ir}
from ghouls.grants g
order by g.created_at desc, g.grant_id
limit $1`),kg=y("grants.page-of-tenant",`
select ${ir}
from ghouls.grants g
where g.tenant_id = $1
order by g.created_at desc, g.grant_id
limit $2`),bg=h("grants.revoke",`
update ghouls.grants g
set revoked_at = ghouls.clock(), revoked_by = coalesce($2::text, 'database role ' || session_user), revocation_reason = $3
where g.grant_id = $1 and g.revoked_at is null
returning g.tenant_id, g.grant_id`);async function Qa(t,{tenantId:e,name:n},r){let[o]=await t.run(hg,[e,n,r]);return o===void 0?null:Xo(o)}s(Qa,"readLiveGrant");async function Ya(t,e){let{tenantId:n,grantId:r,name:o,holder:i,createdBy:a,expiresInMs:d}=e,u=[n,r,o,i,a,d].map(c=>[c]);await At(t,"grants",_g,u);let l=await ed(t,r);if(l?.tenantId===n&&l.name===o&&l.holder===i)return l;throw new k("idempotency_conflict",`the id ${r} is another grant's`,{fix:"Make a grant anew: its id is random."})}s(Ya,"createGrant");async function Xa(t,e,n){return(e.tenantId===void 0?await t.run(wg,[n]):await t.run(kg,[e.tenantId,n])).map(Xo)}s(Xa,"readGrantPage");async function Za(t,e,n){let r=await At(t,"grants",bg,[e,n.actor,n.reason]),o=await ed(t,e);return o===null?null:{revoked:r.length>0,grant:o}}s(Za,"revokeGrant");async function ed(t,e){let[n]=await t.run(yg,[e]);return n===void 0?null:Xo(n)}s(ed,"readGrant");function Xo(t){let e=p(t);return{tenantId:e.text("tenant_id"),grantId:e.text("grant_id"),name:e.text("name"),holder:e.text("holder"),createdBy:e.text("created_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),revokedAt:e.dateOrNull("revoked_at"),revokedBy:e.textOrNull("revoked_by"),revocationReason:e.textOrNull("revocation_reason"),expired:e.boolean("expired")}}s(Xo,"grantOf");var Eg=y("deliveries.expired-holds",`
select d.tenant_id, d.run_id, d.hold_expires_at, ${Q("d.hold_expires_at")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'HELD' and d.hold_expires_at <= ghouls.clock() and run.status = 'QUEUED' and run.quarantined_at is null
  and ${Z("d.hold_expires_at","d.run_id",2)}
order by d.hold_expires_at, d.run_id
limit $1`),Ig=h("deliveries.expire-holds",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as q(tenant_id, run_id, error_text, error_digest)
), expired as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.error_text, wanted.error_digest
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
  where ${Zt("run.status","FAILING")} and run.quarantined_at is null
    and d.status = 'HELD' and ${Kn("d.status","FENCED")} and d.hold_expires_at <= ghouls.clock()
  order by d.run_id
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from expired
  where d.tenant_id = expired.tenant_id and d.run_id = expired.run_id and d.seq = expired.seq
  returning d.tenant_id, d.run_id
)
update ghouls.runs run
set status = 'FAILING', error_code = 'hold_expired', error_text = expired.error_text, error_digest = expired.error_digest
from fenced
join expired on expired.tenant_id = fenced.tenant_id and expired.run_id = fenced.run_id
where run.tenant_id = fenced.tenant_id and run.run_id = fenced.run_id
returning run.tenant_id, run.run_id, run.status`);async function td(t,e,n){let r=await t.run(Eg,[e,...oe(n)]);return ie(r,e,o=>({...rd(o),expiredAt:p(o).date("hold_expires_at")}))}s(td,"readExpiredHolds");async function nd(t,e){return e.length===0?[]:t.transaction("deliveries.expire-holds",async n=>{await N(n,e);let r=await n.run(Ig,[e.map(i=>i.tenantId),e.map(i=>i.runId),e.map(i=>i.errorText),e.map(i=>i.errorDigest)]),o=[];for(let i of r){let a=rd(i),d=p(i).text("status");o.push({...a,status:await X(n,a)??d})}return o})}s(nd,"expireHolds");function rd(t){return{tenantId:p(t).text("tenant_id"),runId:p(t).text("run_id")}}s(rd,"keyOf");var Ag=h("intents.open",`
with ${M(j)}
insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
from held
on conflict do nothing
returning number`),Sg=y("intents.of-call",`
select i.number
from ghouls.intents i
where i.tenant_id = $1 and i.run_id = $2 and i.epoch = $3 and i.scope = $4 and i.kind = $5 and i.name = $6 and i.nth = $7
  and i.number = $8 and i.token = $9 and i.outcome is null`),Cg=h("intents.close",`
with ${M(j)}
update ghouls.intents i
set outcome = $11, outcome_at = ghouls.clock()
from held
where i.tenant_id = held.tenant_id and i.run_id = held.run_id and i.epoch = $5 and i.scope = $6 and i.kind = $7
  and i.name = $8 and i.nth = $9 and i.number = $10 and i.outcome is null
returning i.number`),Dg=y("intents.open-of-run",`
select i.epoch, i.scope, i.kind, i.name, i.nth, i.number, i.seq, i.token,
  (d.status = 'SETTLED' and d.outcome <> 'lost') or item.acknowledged_at is not null
    or coalesce(item.over_at, d.acts_until) <= ghouls.clock() as over,
  coalesce(item.over_at, d.acts_until) as over_at
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
left join ghouls.containment_items item
  on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'worker' and item.token = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.outcome is null
order by i.started_at, i.number`),Rg=y("intents.last-numbers",`
select i.epoch, i.scope, i.kind, i.name, i.nth, max(i.number) as number,
  (count(*) filter (where i.outcome = 'not_done' or d.outcome is distinct from 'lost'))::integer as tries
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
where i.tenant_id = $1 and i.run_id = $2
group by i.epoch, i.scope, i.kind, i.name, i.nth`);function Zo(t){return[t.epoch,t.scope,t.kind,t.name,t.nth]}s(Zo,"callOf");async function od(t,e,n,r){return(await t.run(Ag,[e.tenantId,e.runId,e.seq,e.token,...Zo(n),r])).length===1?!0:(await t.run(Sg,[e.tenantId,e.runId,...Zo(n),r,e.token])).length===1}s(od,"openIntentIfClaimed");async function id(t,e,n,r,o){let i=[e.tenantId,e.runId,e.seq,e.token];return(await t.run(Cg,[...i,...Zo(n),r,o])).length===1}s(id,"closeIntentIfClaimed");async function sd(t,e){return(await t.run(Dg,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),seq:o.number("seq"),token:o.text("token"),over:r.over===!0,overAt:o.dateOrNull("over_at")}})}s(sd,"readOpenIntents");async function ad(t,e){return(await t.run(Rg,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),tries:o.number("tries")}})}s(ad,"readLastIntents");var Og=y("items.of-run",`
select i.kind, i.key, i.seq, i.worker, i.over_at, i.created_at, i.tries, i.last_error, i.acknowledged_at, i.acknowledged_by,
  i.acknowledgement
from ghouls.containment_items i
where i.tenant_id = $1 and i.run_id = $2
order by i.created_at, i.kind, i.key`),Ng=y("items.due",`
select i.tenant_id, i.run_id, ${Q("i.due_at")}
from (
  (select i.tenant_id, i.run_id, i.next_look_at as due_at
  from ghouls.containment_items i
  where i.acknowledged_at is null and i.next_look_at <= ghouls.clock() and ${Z("i.next_look_at","i.run_id",2)}
  order by i.next_look_at, i.run_id
  limit $1)
  union all
  (select run.tenant_id, run.run_id, run.created_at
  from ghouls.runs run
  where run.status in (${I(J)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and ${Z("run.created_at","run.run_id",2)}
  order by run.created_at, run.run_id
  limit $1)
) as i
order by i.due_at, i.run_id
limit $1`),qg=h("items.acknowledge-over",`
with over as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null
    and ((i.kind = 'worker' and i.over_at <= ghouls.clock())
      or (i.kind = 'child' and exists (
        select from ghouls.runs child
        where child.tenant_id = i.tenant_id and child.run_id = i.token
          and child.status in (${I(be("run"))}))))
  order by i.kind, i.key
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = case i.kind when 'worker' then 'time' else 'child' end,
    acknowledgement = case i.kind when 'worker' then 'nothing of its claim can act any more' else 'the run has ended' end
  from over
  where i.tenant_id = over.tenant_id and i.run_id = over.run_id and i.kind = over.kind and i.key = over.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - (select count(*) from acknowledged)::integer
where run.tenant_id = $1 and run.run_id = $2 and (select count(*) from acknowledged) > 0
returning run.open_items`),Pg=h("items.look-later",`
with due as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null and i.next_look_at <= ghouls.clock()
  order by i.kind, i.key
  for update
)
update ghouls.containment_items i
set tries = i.tries + 1,
  next_look_at = greatest(coalesce(i.over_at, ghouls.clock()),
    ghouls.clock() + least(600, 5 * power(2, least(i.tries, 8))) * interval '1 second')
from due
where i.tenant_id = due.tenant_id and i.run_id = due.run_id and i.kind = due.kind and i.key = due.key
returning case
  when i.kind = 'worker' then i.over_at is null and i.tries >= 3
  when i.kind in ('attempt', 'child') then false
  else not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind = 'worker'
        and other.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.cause = 'contain') >= $3
  end as needs_word, i.kind`),Tg=h("deliveries.contain",`
with r as materialized (
  select run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(J)})
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'effect' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'worker' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.cause = 'contain') < $3
  for update
), numbered as (
  update ghouls.runs run
  set enqueue_seq = r.enqueue_seq + 1
  from r
  where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select n.tenant_id, n.run_id, n.enqueue_seq, 'contain', 'PENDING', n.queue, n.priority, later.due_at, later.due_at, ghouls.clock()
from numbered n
cross join lateral (
  select ghouls.clock() + case when count(*) = 0 then interval '0' else 30 * power(4, count(*) - 1) * interval '1 second' end as due_at
  from ghouls.deliveries d
  where d.tenant_id = n.tenant_id and d.run_id = n.run_id and d.cause = 'contain'
) as later
returning seq`);async function dd(t,e){return(await t.run(Og,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{kind:o.text("kind"),key:o.text("key"),seq:o.number("seq"),worker:o.text("worker"),overAt:o.dateOrNull("over_at"),createdAt:o.date("created_at"),tries:o.number("tries"),lastError:o.textOrNull("last_error"),acknowledgedAt:o.dateOrNull("acknowledged_at"),acknowledgedBy:o.textOrNull("acknowledged_by"),acknowledgement:o.textOrNull("acknowledgement")}})}s(dd,"readItems");async function ud(t,e,n){let r=await t.run(Ng,[e,...oe(n)]),{found:o,next:i}=ie(r,e,a=>({tenantId:p(a).text("tenant_id"),runId:p(a).text("run_id")}));return{found:[...new Map(o.map(a=>[a.runId,a])).values()],next:i}}s(ud,"readDueItems");async function ei(t,e){let n=await t.run(qg,[e.tenantId,e.runId]);return n.length>0&&await er(t,e),n.length>0}s(ei,"acknowledgeOver");async function ti(t,e,n){let r=[e.tenantId,e.runId];return t.transaction("items.contain",async o=>{await N(o,[e]),await ei(o,e);let i=await X(o,e);if(i!==null)return{ended:i,contain:!1,needsWord:!1,children:!1};let a=await o.run(Tg,[...r,n]),d=await o.run(Pg,[...r,n]);return{ended:i,contain:a.length===1,needsWord:a.length===0&&d.some(u=>u.needs_word===!0),children:d.some(u=>u.kind==="child")}})}s(ti,"containRun");var ni=`k.tenant_id, k.key_id, k.subject, k.roles, k.permissions, k.created_by, k.created_at, k.expires_at, k.last_used_at,
  k.revoked_at, k.revoked_by, k.revocation_reason, coalesce(k.expires_at <= ghouls.clock(), false) as expired`,Mg=y("keys.by-id",`
select ${ni}, k.digest, coalesce(k.last_used_at < ghouls.clock() - interval '1 hour', true) as use_is_due
from ghouls.api_keys k
where k.key_id = $1`),jg=h("keys.mark-used",`
update ghouls.api_keys k
set last_used_at = ghouls.clock()
where k.tenant_id = $1 and k.key_id = $2
  and (k.last_used_at is null or k.last_used_at < ghouls.clock() - interval '1 hour')`),zg=h("keys.create",`
insert into ghouls.api_keys (tenant_id, key_id, digest, subject, roles, permissions, created_by, created_at, expires_at)
select q.tenant_id, q.key_id, q.digest, q.subject, array(select jsonb_array_elements_text(q.roles::jsonb)),
  array(select jsonb_array_elements_text(q.permissions::jsonb)), coalesce(q.created_by, 'database role ' || session_user),
  ghouls.clock(), ghouls.clock() + q.expires_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::double precision[])
  as q(tenant_id, key_id, digest, subject, roles, permissions, created_by, expires_ms)
order by q.key_id
on conflict (key_id) do nothing`),Gg=y("keys.page",`
select ${ni}
from ghouls.api_keys k
order by k.created_at desc, k.key_id
limit $1`),Fg=y("keys.page-of-tenant",`
select ${ni}
from ghouls.api_keys k
where k.tenant_id = $1
order by k.created_at desc, k.key_id
limit $2`),Ug=h("keys.revoke",`
update ghouls.api_keys k
set revoked_at = ghouls.clock(), revoked_by = coalesce($2::text, 'database role ' || session_user), revocation_reason = $3
where k.key_id = $1 and k.revoked_at is null
returning k.tenant_id, k.key_id`),Wg=y("keys.roles-of-subject",`
select k.roles
from ghouls.api_keys k
where k.tenant_id = $1 and k.subject = $2 and k.revoked_at is null
  and (k.expires_at is null or k.expires_at > ghouls.clock())`);async function sr(t,e){let[n]=await t.run(Mg,[e]);if(n===void 0)return null;let r=p(n);return{...hd(n),digest:r.text("digest"),useIsDue:r.boolean("use_is_due")}}s(sr,"readKey");async function ld(t,e){await t.run(jg,[e.tenantId,e.keyId])}s(ld,"markKeyUsed");async function cd(t,e){let n=s(r=>e.map(r),"column");return await At(t,"keys",zg,[n(r=>r.tenantId),n(r=>r.keyId),n(r=>r.digest),n(r=>r.subject),n(r=>JSON.stringify(r.roles)),n(r=>JSON.stringify(r.permissions)),n(r=>r.createdBy),n(r=>r.expiresInMs)]),Promise.all(e.map(r=>Kg(t,r)))}s(cd,"createKeys");async function Kg(t,{tenantId:e,keyId:n,digest:r}){let o=await sr(t,n);if(o!==null&&o.tenantId===e&&rt(o.digest,r))return gd(o);throw new k("idempotency_conflict",`the id ${n} is another key's`,{fix:"Make a key anew: its id is random."})}s(Kg,"readMade");async function md(t,e,n){return(e.tenantId===void 0?await t.run(Gg,[n]):await t.run(Fg,[e.tenantId,n])).map(hd)}s(md,"readKeyPage");async function fd(t,e,n){let r=await At(t,"keys",Ug,[e,n.actor,n.reason]),o=await sr(t,e);return o===null?null:{revoked:r.length>0,key:gd(o)}}s(fd,"revokeKey");async function pd(t,{tenantId:e,subject:n}){let r=await t.run(Wg,[e,n]);return r.length===0?null:[...new Set(r.flatMap(o=>p(o).texts("roles")))]}s(pd,"readRolesOfSubject");function gd({digest:t,useIsDue:e,...n}){return n}s(gd,"shown");function hd(t){let e=p(t);return{tenantId:e.text("tenant_id"),keyId:e.text("key_id"),subject:e.text("subject"),roles:e.texts("roles"),permissions:e.texts("permissions"),createdBy:e.text("created_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),lastUsedAt:e.dateOrNull("last_used_at"),revokedAt:e.dateOrNull("revoked_at"),revokedBy:e.textOrNull("revoked_by"),revocationReason:e.textOrNull("revocation_reason"),expired:e.boolean("expired")}}s(hd,"keyOf");var Hg=y("consents.to-look-up",`
select ${Jo}, c.looks, ${Q("c.next_look_at")}
${rr}
where c.status = 'PENDING' and c.source is not null and c.next_look_at <= ghouls.clock()
  and ${Z("c.next_look_at","c.run_id",2)}
order by c.next_look_at, c.run_id
limit $1`),Jg=h("consents.looked-up",`
update ghouls.consents c
set looks = c.looks + 1, next_look_at = ghouls.clock() + $4::double precision * interval '1 second'
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
returning c.looks`);async function yd(t,e,n){let r=await t.run(Hg,[e,...oe(n)]);return ie(r,e,o=>({...Qo(o),looks:p(o).number("looks")}))}s(yd,"readConsentsToLookUp");async function _d(t,e,n){await t.run(Jg,[e.tenantId,e.runId,e.consentId,n])}s(_d,"postponeLookUp");var Qg=y("deliveries.lapsed",`
select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, run.status, run.on_worker_loss, run.losses,
  ${Q("d.lease_until")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() and ($2::uuid[] is null or d.run_id = any($2::uuid[]))
  and ${Z("d.lease_until","d.run_id",3)}
order by d.lease_until, d.run_id
limit $1`),Yg=h("deliveries.settle-lost",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::text[], $6::text[])
    as q(tenant_id, run_id, seq, token, error_text, error_digest)
), lost as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.checkpoint_generation, wanted.error_text, wanted.error_digest,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $8::double precision * interval '1 second') end as over_at,
    run.status as run_status,
    case when run.status in (${I(J)}) then run.status
      when run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer then 'QUEUED'
      else 'FAILING' end as next_status
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = wanted.seq
  where d.status = 'CLAIMED' and d.token = wanted.token and d.lease_until < ghouls.clock()
    and (char_length(wanted.error_digest) > 0 or run.status in (${I(J)})
      or (run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer))
  order by d.run_id
  for update of d
), settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'lost', settled_at = ghouls.clock()
  from lost
  where t.tenant_id = lost.tenant_id and t.run_id = lost.run_id and t.seq = lost.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at, t.queue, t.priority
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select lost.tenant_id, lost.run_id, 'worker', lost.seq::text, lost.seq, lost.token, lost.claimed_by, lost.over_at,
    settled.settled_at, coalesce(lost.over_at, settled.settled_at)
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  returning tenant_id, run_id
), unknown as materialized (
  select i.tenant_id, i.run_id, ${He} as key, i.seq, i.token, lost.claimed_by
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  join ghouls.intents i on i.tenant_id = lost.tenant_id and i.run_id = lost.run_id
  where i.outcome is null and lost.next_status = 'FAILING' and lost.run_status <> 'FAILING'
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select u.tenant_id, u.run_id, 'effect', u.key, u.seq, u.token, u.claimed_by, ghouls.clock(), ghouls.clock()
  from unknown u
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning tenant_id, run_id
), moved as (
  update ghouls.runs run
  set status = lost.next_status,
    losses = run.losses + case when lost.next_status = lost.run_status then 0 else 1 end,
    enqueue_seq = run.enqueue_seq + case when lost.next_status = 'QUEUED' then 1 else 0 end,
    open_items = run.open_items + 1 + (
      select count(*) from effect_item e where e.tenant_id = run.tenant_id and e.run_id = run.run_id)::integer,
    error_code = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then 'ghoul_lost' else run.error_code end,
    error_text = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_text else run.error_text end,
    error_digest = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_digest else run.error_digest end
  from lost
  join worker_item w on w.tenant_id = lost.tenant_id and w.run_id = lost.run_id
  where run.tenant_id = lost.tenant_id and run.run_id = lost.run_id
  returning run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, lost.checkpoint_generation
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'recovered', 'PENDING', moved.queue, moved.priority,
    moved.checkpoint_generation, ghouls.clock(), ghouls.clock() + $9::double precision * interval '1 second', ghouls.clock()
  from moved
  where moved.status = 'QUEUED'
  returning run_id
)
select moved.tenant_id, moved.run_id, moved.status, moved.enqueue_seq, moved.queue
from moved
left join next on next.run_id = moved.run_id`);async function wd(t,e,{after:n,runIds:r=null}={}){let o=await t.run(Qg,[e,r,...oe(n)]);return ie(o,e,i=>{let a=p(i);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),seq:a.number("seq"),token:a.text("token"),worker:a.text("claimed_by"),runStatus:a.text("status"),onWorkerLoss:a.text("on_worker_loss"),losses:a.number("losses")}})}s(wd,"readLapsedClaims");async function kd(t,e,n){return e.length===0?[]:t.transaction("deliveries.settle-lost",async r=>(await N(r,e),(await r.run(Yg,[e.map(i=>i.tenantId),e.map(i=>i.runId),e.map(i=>i.seq),e.map(i=>i.token),e.map(i=>i.errorText),e.map(i=>i.errorDigest),n.maxLosses,n.actsMarginSeconds,n.publisherGraceSeconds])).map(i=>{let a=p(i);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),status:a.text("status"),enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}})))}s(kd,"settleLostClaims");var Zg=y("children.due",`
select e.tenant_id, e.run_id, e.parent_run_id, ${Q("e.ended_at")}
from ghouls.child_ends e
where ${Z("e.ended_at","e.run_id",2)}
order by e.ended_at, e.run_id
limit $1`),eh=h("children.forget-end","delete from ghouls.child_ends e where e.tenant_id = $1 and e.run_id = $2 returning e.run_id"),th=y("children.to-cancel",`
select child.tenant_id, child.run_id
from ghouls.containment_items i
join ghouls.runs child on child.tenant_id = i.tenant_id and child.run_id = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.kind = 'child' and i.acknowledged_at is null and child.parent_close = 'cancel'
  and child.status in (${I(Ce("run","CANCELLING"))})
order by child.run_id`);async function bd(t,e,n){let r=await t.run(Zg,[e,...oe(n)]);return ie(r,e,o=>{let i=p(o);return{tenantId:i.text("tenant_id"),runId:i.text("run_id"),parentRunId:i.text("parent_run_id")}})}s(bd,"readChildEnds");async function xd(t,{tenantId:e,runId:n,parentRunId:r},o){let i={tenantId:e,runId:r};return t.transaction("children.tell-parent",async a=>{let d=(await N(a,[i])).get(r),u=d!==void 0&&!xe(d),l=d!==void 0&&De.includes(d),c=u&&await ei(a,i)?await X(a,i):null,m=l?await Ie(a,i,o):null;return await a.run(eh,[e,n]),{resumption:m,ended:c}})}s(xd,"tellParent");async function Ed(t,e){return(await t.run(th,[e.tenantId,e.runId])).map(r=>({tenantId:p(r).text("tenant_id"),runId:p(r).text("run_id")}))}s(Ed,"readChildrenToCancel");var rh=h("children.start",`
with ${M(j)}, arm as (
  insert into ghouls.arms (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, created_at)
  select held.tenant_id, held.run_id, $5::uuid, $6, $7, 'child', $8, $9, 'child', held.generation + 1, held.seq, ghouls.clock()
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null do nothing
  returning tenant_id, run_id, arm_id, created_at
), parent as (
  update ghouls.runs run
  set children = run.children + 1, losses = 0, idle_yields = 0
  from arm
  where run.tenant_id = arm.tenant_id and run.run_id = arm.run_id
  returning run.tenant_id, run.run_id, run.priority, run.agent, run.requested_by, run.requested_roles, arm.arm_id, arm.created_at
), child as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest,
    queue, priority, agent, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, deadline_at, created_at,
    on_worker_loss, parent_run_id, parent_arm_id, parent_close)
  select parent.tenant_id, $10::uuid, $10::uuid, $11, $12, $13::integer, $14, $15, coalesce($16::smallint, parent.priority), parent.agent,
    parent.requested_by, parent.requested_roles, 'QUEUED', 1, $17, $18,
    parent.created_at + $19::double precision * interval '1 millisecond', parent.created_at, $20, parent.run_id, parent.arm_id, $21
  from parent
  returning tenant_id, run_id, enqueue_seq, queue, priority, created_at
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select child.tenant_id, child.run_id, child.enqueue_seq, 'admitted', 'PENDING', child.queue, child.priority, child.created_at,
  child.created_at + $22::double precision * interval '1 second', child.created_at
from child
returning run_id`),oh=y("children.started",`
select child.run_id
from ghouls.runs child
where child.tenant_id = $1 and child.parent_run_id = $2 and child.parent_arm_id = $3::uuid`);async function Id(t,e,n,r){let{call:o,workflow:i}=n,[a]=await t.run(rh,[e.tenantId,e.runId,e.seq,e.token,n.armId,o.epoch,o.scope,o.name,o.nth,n.runId,n.requestDigest,i.name,i.version,i.digest,n.queue,n.priority,n.inputText,n.inputDigest,n.deadlineMs,n.onWorkerLoss,n.parentClose,r.publisherGraceSeconds]);if(a!==void 0)return!0;let[d]=await t.run(oh,[e.tenantId,e.runId,n.armId]);return d!==void 0&&p(d).text("run_id")===n.runId}s(Id,"startChildIfClaimed");var Ad="d.tenant_id, d.run_id, d.seq, d.token, d.cause, d.claimed_at, d.acts_until, d.checkpoint_generation",ri=`run.workflow_name, run.workflow_version, run.workflow_digest, run.first_run_id, run.queue, run.agent,
  run.requested_by, run.requested_roles, run.input_text, run.input_digest, run.journal_length, run.journal_bytes, run.created_at,
  run.starts_at, run.deadline_at, run.epoch, run.journal_start, run.idle_yields, run.workflow_absent_since, run.open_items,
  run.parent_run_id`,sh=h("deliveries.claim",`
with wanted as materialized (
  select q.run_id, q.seq, q.token from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
), r as materialized (
  select run.tenant_id, run.run_id, run.status, run.paused_at, run.quarantined_at
  from ghouls.runs run
  where run.run_id = any($1::uuid[])
  order by run.run_id
  for update
), d as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.token
  from r
  join wanted on wanted.run_id = r.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = wanted.seq
  where (select count(*) from r) >= 0 
    and ((d.cause <> 'contain' and r.status = 'QUEUED' and r.paused_at is null and r.quarantined_at is null)
      or (d.cause = 'contain' and r.status in (${I(J)})
        and (r.quarantined_at is null or r.status = 'CANCELLING')))
    and ${Kn("d.status","CLAIMED")} and d.due_at <= ghouls.clock()
  order by d.run_id, d.seq
  for update of d
), claimed as (
  update ghouls.deliveries t
  set status = 'CLAIMED', token = d.token, claimed_by = $4, claimed_at = ghouls.clock(),
    lease_until = ghouls.clock() + $5::double precision * interval '1 second',
    acts_until = ghouls.clock() + $6::double precision * interval '1 second'
  from d
  where t.tenant_id = d.tenant_id and t.run_id = d.run_id and t.seq = d.seq
  returning t.tenant_id, t.run_id, t.seq, t.token, t.cause, t.claimed_at, t.acts_until, t.checkpoint_generation
), running as (
  update ghouls.runs run
  set status = case when claimed.cause = 'contain' then run.status else 'RUNNING' end,
    started_at = coalesce(run.started_at, claimed.claimed_at)
  from claimed
  where run.tenant_id = claimed.tenant_id and run.run_id = claimed.run_id
  returning run.tenant_id, run.run_id, ${ri}
)
select ${Ad}, ${ri}
from claimed d
join running run on run.tenant_id = d.tenant_id and run.run_id = d.run_id`),ah=y("deliveries.claimed-by-token",`
select ${Ad}, ${ri}
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token
where d.status = 'CLAIMED'`),dh=y("deliveries.unclaimed",`
select d.run_id, d.seq, run.status as run_status, d.status as delivery_status, d.cause, run.enqueue_seq,
  run.paused_at is not null as paused, run.quarantined_at is not null as quarantined,
  extract(epoch from d.due_at - ghouls.clock())::double precision as due_in,
  extract(epoch from d.lease_until - ghouls.clock())::double precision as lease_ends_in
from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq`);async function Sd(t,e,n){let r=Dd(e),o=e.map(d=>d.token),i=await t.run(sh,[...r,o,n.worker,n.leaseSeconds,n.actsForSeconds]);return i.length===e.length?i.map(vd):(await t.run(ah,[...r,o])).map(vd)}s(Sd,"claimDeliveriesIfDue");async function Cd(t,e){let n=await t.run(dh,Dd(e));return new Map(n.map(r=>{let o=p(r);return[`${o.text("run_id")}:${o.number("seq")}`,{runStatus:o.text("run_status"),deliveryStatus:o.text("delivery_status"),cause:o.text("cause"),currentSeq:o.number("enqueue_seq"),seq:o.number("seq"),paused:o.boolean("paused"),quarantined:o.boolean("quarantined"),dueInSeconds:o.number("due_in"),leaseEndsInSeconds:o.numberOrNull("lease_ends_in")}]}))}s(Cd,"readUnclaimed");function Dd(t){return[t.map(e=>e.runId),t.map(e=>e.enqueueSeq)]}s(Dd,"arrays");function vd(t){let e=p(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),seq:e.number("seq"),token:e.text("token"),cause:e.text("cause"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},firstRunId:e.text("first_run_id"),queue:e.text("queue"),agent:e.textOrNull("agent"),requestedBy:e.text("requested_by"),requestedRoles:e.texts("requested_roles"),inputText:e.text("input_text"),inputDigest:e.text("input_digest"),journalLength:e.number("journal_length"),journalBytes:e.number("journal_bytes"),admittedAt:e.date("created_at"),startsAt:e.dateOrNull("starts_at"),deadlineAt:e.dateOrNull("deadline_at"),checkpointGeneration:e.numberOrNull("checkpoint_generation"),epoch:e.number("epoch"),journalStart:e.number("journal_start"),idleYields:e.number("idle_yields"),workflowAbsentSince:e.dateOrNull("workflow_absent_since"),claimedAt:e.date("claimed_at"),actsUntil:e.dateOrNull("acts_until"),parentRunId:e.textOrNull("parent_run_id")}}s(vd,"claimedRun");var uh=h("deliveries.record-worker-end",`
with lost as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set worker_ended_at = ghouls.clock(), worker_end = $2, lease_until = least(d.lease_until, ghouls.clock())
from lost
where d.tenant_id = lost.tenant_id and d.run_id = lost.run_id and d.seq = lost.seq
returning d.run_id`),lh=h("items.record-worker-end",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.worker = $1 and i.kind = 'worker' and i.acknowledged_at is null
  order by i.tenant_id, i.run_id, i.kind, i.key
  for update
)
update ghouls.containment_items i
set over_at = least(i.over_at, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(i.next_look_at, ghouls.clock() + $2::double precision * interval '1 second')
from item
where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
returning i.run_id`);async function Rd(t,e){let n=await t.run(uh,[e.worker,e.how]),r=e.actsMarginSeconds??ch;return await t.run(lh,[e.worker,r]),await La(t,e.worker,r),n.length}s(Rd,"recordWorkerEnd");var ch=60;var fh=h("journal.append",`
with ${M(j)}, entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text,
    result_digest, tries, seq, token, started_at, completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, held.seq, held.token,
    date_trunc('milliseconds', ghouls.clock()) - $14::double precision * interval '1 millisecond',
    date_trunc('milliseconds', ghouls.clock())
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), effect as (
  update ghouls.intents i
  set outcome = case when $10 = 'ok' then 'happened' else 'failed' end, outcome_at = entry.completed_at
  from entry
  where $16::boolean and i.tenant_id = entry.tenant_id and i.run_id = entry.run_id and i.epoch = $5 and i.scope = $6
    and i.kind = $7 and i.name = $8 and i.nth = $9 and i.outcome is null
  returning i.run_id
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $15::bigint, losses = 0, idle_yields = 0
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id
  and (select count(*) from effect) >= 0`),ph=y("journal.entry-of-call",`
select j.ordinal, j.completed_at, j.token, j.outcome, j.result_text, j.result_digest, j.tries
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = $5 and j.name = $6 and j.nth = $7`),gh=y("journal.read",`
select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.result_text, j.result_digest, j.tries, j.seq,
  j.token, j.started_at, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.ordinal > $3
order by j.ordinal`);async function $d(t,e,n){let r=await oi(t,e,n);if(r!==null)return r;let o=await ii(t,e,n);return o!==null&&o.token===e.token&&o.outcome===n.outcome&&o.resultDigest===n.resultDigest?{ordinal:o.ordinal,completedAt:o.completedAt}:null}s($d,"appendEntryIfClaimed");async function oi(t,e,n){let[r]=await t.run(fh,[e.tenantId,e.runId,e.seq,e.token,...Od(n),n.outcome,n.resultText,n.resultDigest,n.tries,n.tookMs,n.resultBytes,n.closesIntent??!1]);return r===void 0?null:Nd(r)}s(oi,"appendOnce");async function ii(t,e,n){let[r]=await t.run(ph,[e.tenantId,e.runId,...Od(n)]);if(r===void 0)return null;let o=p(r);return{...Nd(r),token:o.text("token"),outcome:o.text("outcome"),resultText:o.textOrNull("result_text"),resultDigest:o.textOrNull("result_digest"),tries:o.number("tries")}}s(ii,"readEntryOfCall");function Od({epoch:t,scope:e,kind:n,name:r,nth:o}){return[t,e,n,r,o]}s(Od,"callOf");function Nd(t){let e=p(t);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}s(Nd,"appended");async function qd(t,e,n=0){return(await t.run(gh,[e.tenantId,e.runId,n])).map(o=>{let i=p(o);return{ordinal:i.number("ordinal"),epoch:i.number("epoch"),scope:i.text("scope"),kind:i.text("kind"),name:i.text("name"),nth:i.number("nth"),outcome:i.text("outcome"),resultText:i.textOrNull("result_text"),resultDigest:i.textOrNull("result_digest"),tries:i.number("tries"),seq:i.number("seq"),token:i.text("token"),startedAt:i.date("started_at"),completedAt:i.date("completed_at")}})}s(qd,"readJournal");var yh=y("ledger.next-look",`
select extract(epoch from min(due.due_at) - ghouls.clock())::double precision as due_in
from (
  (select ghouls.clock() as due_at
  from ghouls.deliveries d
  where d.status = 'CLAIMED'
  order by d.lease_until
  limit 1)
  union all
  select pending.next_publication_at
  from generate_series(9, 0, -1) as p(priority)
  cross join lateral (
    select d.next_publication_at
    from ghouls.deliveries d
    join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
    where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at is not null
      and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
        or (d.cause = 'contain' and run.status in (${I(J)})
          and (run.quarantined_at is null or run.status = 'CANCELLING')))
    order by d.next_publication_at
    limit 1
  ) as pending
  union all
  (select d.hold_expires_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'HELD' and run.status = 'QUEUED' and run.quarantined_at is null
  order by d.hold_expires_at
  limit 1)
  union all
  (select i.next_look_at
  from ghouls.containment_items i
  where i.acknowledged_at is null
  order by i.next_look_at
  limit 1)
  union all
  (select a.due_at
  from ghouls.arms a
  join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
  where a.closed_at is null and a.due_at is not null and run.status in (${I(De)})
    and run.quarantined_at is null
  order by a.due_at
  limit 1)
  union all
  (select c.next_look_at
  from ghouls.consents c
  where c.status = 'PENDING' and c.source is not null
  order by c.next_look_at
  limit 1)
  union all
  (select t.next_look_at
  from ghouls.attempts t
  where t.status not in (${I(de)})
  order by t.next_look_at
  limit 1)
  union all
  (select e.ended_at
  from ghouls.child_ends e
  order by e.ended_at
  limit 1)
  union all
  (select run.deadline_at
  from ghouls.runs run
  where run.deadline_at is not null and run.status in (${I(or)}) and run.quarantined_at is null
    and ${Yo}
  order by run.deadline_at
  limit 1)
  union all
  (select ghouls.clock()
  from ghouls.runs run
  where run.status in (${I(J)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
  order by run.created_at
  limit 1)
) as due`);async function Pd(t){let[e]=await t.run(yh,[]);return e===void 0?null:p(e).numberOrNull("due_in")}s(Pd,"readNextLook");var _h=h("consents.open",`
insert into ghouls.consents (tenant_id, run_id, consent_id, arm_id, status, title, request_text, stored_digest, request_digest,
  deciders, quorum, requester_may_decide, on_expiry, source, next_look_at, created_at, expires_at)
select a.tenant_id, a.run_id, $4, a.arm_id, 'PENDING', $5, $6, $7, $8, $9::text[], $10, $11, $12, $13,
  case when $13::text is null then null else a.created_at end, a.created_at, a.due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning consent_id`),wh=h("attempts.open",`
insert into ghouls.attempts (tenant_id, run_id, attempt_id, arm_id, call_key, status, service, adapter, adapter_version,
  service_digest, lookup, submit, cancel, delay_seconds, poll_seconds, heartbeat_seconds, request_text, stored_digest,
  request_digest, idempotency_key, deadline_at, next_look_at, created_at)
select a.tenant_id, a.run_id, $4, a.arm_id, json_build_array(a.epoch, a.scope, a.kind, a.name, a.nth)::text, 'DEFINED', $5, $6,
  $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, a.created_at + $19::double precision * interval '1 second',
  a.created_at + $20::double precision * interval '1 second', a.created_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning attempt_id`);async function Td(t,e,{armId:n,consent:r,attempt:o},i){r!==void 0&&await kh(t,e,n,r),o!==void 0&&await bh(t,e,n,o,i.publisherGraceSeconds)}s(Td,"openOwner");async function kh(t,e,n,r){await t.run(_h,[e.tenantId,e.runId,n,r.consentId,r.title,r.requestText,r.storedDigest,r.requestDigest,r.deciders,r.quorum,r.requesterMayDecide,r.onExpiry,r.source])}s(kh,"openConsent");async function bh(t,e,n,r,o){let{traits:i}=r;await t.run(wh,[e.tenantId,e.runId,n,r.attemptId,r.service,r.adapter,r.adapterVersion,r.serviceDigest,i.lookup,i.submit,i.cancel,i.delaySeconds,r.pollSeconds,r.heartbeatSeconds,r.requestText,r.storedDigest,r.requestDigest,r.idempotencyKey,r.deadlineSeconds,o])}s(bh,"openAttempt");var Ld=h("arms.open",`
with ${M(j)}, wanted as materialized (
  select q.* from unnest($6::uuid[], $7::integer[], $8::text[], $9::text[], $10::text[], $11::integer[], $12::text[],
    $13::timestamptz[], $14::integer[], $15::double precision[])
    as q(arm_id, epoch, scope, kind, name, nth, owner, due_at, tries, due_in)
)
insert into ghouls.arms as a (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, due_at, tries,
  created_at)
select held.tenant_id, held.run_id, w.arm_id, w.epoch, w.scope, w.kind, w.name, w.nth, w.owner, held.generation + 1, held.seq,
  coalesce(w.due_at, ghouls.clock() + w.due_in * interval '1 second'), w.tries, ghouls.clock()
from held cross join wanted w
where held.journal_length = $5
on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null
do update set generation = excluded.generation,
  due_at = case when excluded.tries > a.tries then excluded.due_at else a.due_at end,
  tries = greatest(a.tries, excluded.tries)
returning a.arm_id`),xh=h("arms.close-steps",`
update ghouls.arms a
set closed_at = ghouls.clock(), closing = 'step'
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null and a.kind = 'step' and a.generation < $3
returning a.arm_id`),Eh=h("deliveries.park",`
with ${M(j)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'parked', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = $8, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.generation, run.status, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
), wait as (
  insert into ghouls.waits (tenant_id, run_id, generation, seq, opened_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, moved.settled_at
  from moved
  returning run_id
)
select moved.status
from moved
join checkpoint on checkpoint.run_id = moved.run_id
join wait on wait.run_id = moved.run_id`),Ih=h("deliveries.continue",`
with ${M(j)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $8::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),vh=y("deliveries.parked",`
select d.outcome, run.status, next.seq, next.queue
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
left join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED'
  and d.outcome in ('parked', 'continued')`);async function Md(t,e,n,r,o){return t.transaction("deliveries.park",async i=>{await N(i,[e]);let a=await i.run(Ld,[...sn(e),n.journalLength,...zd(r)]);if(a.length!==r.length)return Ch(i,e);let d=new Set(a.map(b=>p(b).text("arm_id")));for(let b of r)d.has(b.armId)&&await Td(i,e,b,o);let u=await on(i,e),l=Math.max(...u.map(b=>b.generation));await i.run(xh,[e.tenantId,e.runId,l]);let c=u.filter(b=>b.generation===l||b.call.kind!=="step"),m=Ah(c,l,r);if(m!==void 0)throw new ar(m.what,m);let f=[n.workflowDigest,n.journalLength,n.journalDigest],g=await zo(i,e);if(g.length===0){let b=Co(c.map(({owner:O})=>O)),[A]=await i.run(Eh,[...sn(e),...f,b]);if(A===void 0)throw new TypeError("a run that is locked and held was not parked");return{kind:"parked",status:b,arms:c}}await Go(i,e,e.seq,g);let[_]=await i.run(Ih,[...sn(e),...f,o.publisherGraceSeconds]);if(_===void 0)throw new TypeError("a run that is locked and held was not continued");return{kind:"continued",next:Ve(_)}}).catch(i=>{if(i instanceof ar)return{kind:"mismatch",...i.problem};throw i})}s(Md,"parkIfClaimed");async function jd(t,e,n,r,o){return t.transaction("deliveries.yield-standing",async i=>{await N(i,[e]);let a=await i.run(Ld,[...sn(e),n.journalLength,...zd(r)]),d=await Xn(i,e,n,o);if(d===null&&a.length>0)throw new TypeError("a run that is locked and held was not handed over");return d})}s(jd,"yieldStandingIfClaimed");var ar=class extends Error{static{s(this,"Mismatch")}problem;constructor(e,n){super(e),this.problem=n}};function Ah(t,e,n){let r=t.find(o=>o.generation<e);if(r!==void 0)return{what:`${r.call.kind} "${r.call.name}" stands open, but the code does not ask for it any more`};for(let{call:o,consent:i,attempt:a}of n){let d=i??a,u=d&&t.find(l=>Sh(l.call,o));if(u!==void 0&&u.requestDigest!==null&&u.requestDigest!==d?.requestDigest)return{what:`the ${o.kind} "${o.name}" was frozen with another request than the code asks for now`,key:P(o),ownerId:u.consentId??u.attemptId??""}}}s(Ah,"mismatchOf");function Sh(t,e){return t.epoch===e.epoch&&t.scope===e.scope&&t.kind===e.kind&&t.name===e.name&&t.nth===e.nth}s(Sh,"sameCall");async function Ch(t,e){let[n]=await t.run(vh,sn(e));if(n===void 0)return null;let r=p(n);return r.text("outcome")==="continued"?{kind:"continued",next:Ve(n)}:{kind:"parked",status:r.text("status"),arms:await on(t,e)}}s(Ch,"answerOfEarlierTry");function zd(t){return[t.map(({armId:e})=>e),t.map(({call:e})=>e.epoch),t.map(({call:e})=>e.scope),t.map(({call:e})=>e.kind),t.map(({call:e})=>e.name),t.map(({call:e})=>e.nth),t.map(({owner:e})=>e),t.map(({dueAt:e})=>e),t.map(({tries:e})=>e),t.map(({consent:e})=>e?.expiresInSeconds??null)]}s(zd,"columnsOf");function sn(t){return[t.tenantId,t.runId,t.seq,t.token]}s(sn,"keyOf");var Gd=T("run").filter(t=>!xe(t)),Rh=y("runs.open-of-pins",`
select run.workflow_name, run.workflow_version, run.workflow_digest, count(*)::integer as runs
from ghouls.runs run
where run.tenant_id = $1 and run.status in (${I(Gd)})
  and (run.workflow_name, run.workflow_version, run.workflow_digest) in (
    select q.name, q.version, q.digest
    from unnest($2::text[], $3::integer[], $4::text[]) as q(name, version, digest))
group by run.workflow_name, run.workflow_version, run.workflow_digest`);async function Fd(t,e,n){return n.length===0?[]:(await t.run(Rh,[e,...Oh(n)])).map(o=>({...Wd(o),runs:p(o).number("runs")}))}s(Fd,"countOpenRunsOfPins");var $h=y("runs.stranded",`
with stranded as materialized (
  select run.run_id, run.status, run.workflow_name, run.workflow_version, run.workflow_digest, run.created_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.status in (${I(Gd.filter(t=>!J.includes(t)))})
    and (run.workflow_name, run.workflow_digest) not in (
      select q.name, q.digest
      from unnest($2::text[], $3::text[]) as q(name, digest))
)
select s.run_id, s.status, s.workflow_name, s.workflow_version, s.workflow_digest, count(*) over ()::integer as runs
from stranded s
order by s.created_at desc, s.run_id desc
limit $4`);async function Ud(t,e,n,r){let o=await t.run($h,[e,n.map(({name:a})=>a),n.map(({digest:a})=>a),r]),[i]=o;return{runs:o.map(a=>({runId:p(a).text("run_id"),status:p(a).text("status"),workflow:Wd(a)})),count:i===void 0?0:p(i).number("runs")}}s(Ud,"readStrandedRuns");function Oh(t){return[t.map(e=>e.name),t.map(e=>e.version),t.map(e=>e.digest)]}s(Oh,"columnsOf");function Wd(t){let e=p(t);return{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")}}s(Wd,"pinOf");var qh=y("deliveries.due-publications",`
select due.tenant_id, due.run_id, due.seq, due.queue, due.publications
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at <= ghouls.clock()
    and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
      or (d.cause = 'contain' and run.status in (${I(J)})
        and (run.quarantined_at is null or run.status = 'CANCELLING')))
  order by d.next_publication_at
  limit $1
) as due
order by due.priority desc, due.next_publication_at
limit $1`),Ph=h("deliveries.mark-published",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set publications = d.publications + 1, publication_failures = 0, publication_error = null,
  published_at = coalesce(d.published_at, ghouls.clock()),
  next_publication_at = greatest(ghouls.clock(), d.due_at)
    + ($4::double precision[])[least(d.publications + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
returning d.run_id`),Th=h("deliveries.mark-publication-failed",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq, q.reason
  from unnest($1::text[], $2::uuid[], $3::integer[], $5::text[]) as q(tenant_id, run_id, seq, reason)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d skip locked
)
update ghouls.deliveries d
set publication_failures = d.publication_failures + 1, publication_error = marked.reason,
  next_publication_at = ghouls.clock()
    + ($4::double precision[])[least(d.publication_failures + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq and d.status = 'PENDING'
returning d.run_id, d.publication_failures`);async function Kd(t,e){return(await t.run(qh,[e])).map(r=>{let o=p(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),enqueueSeq:o.number("seq"),queue:o.text("queue"),publications:o.number("publications")}})}s(Kd,"readDuePublications");async function Bd(t,e,n=Rn.afterSuccess){return e.length===0?0:(await t.run(Ph,[...Jd(e),n])).length}s(Bd,"markPublished");async function Hd(t,e,n=Rn.afterFailure){if(e.length===0)return 0;let r=e.map(i=>i.publication),o=e.map(i=>i.reason.slice(0,500).replaceAll("\0",""));return(await t.run(Th,[...Jd(r),n,o])).length}s(Hd,"markPublicationFailed");function Jd(t){return[t.map(e=>e.tenantId),t.map(e=>e.runId),t.map(e=>e.enqueueSeq)]}s(Jd,"arrays");var Mh=h("runs.clear-quarantine",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.quarantined_at is not null
  for update
), due as (
  update ghouls.deliveries d
  set next_publication_at = greatest(d.due_at, ghouls.clock())
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status = 'PENDING'
  returning d.tenant_id, d.run_id, d.seq, d.queue
)
update ghouls.runs run
set quarantined_at = null, quarantine_reason = null
from r
left join due on due.tenant_id = r.tenant_id and due.run_id = r.run_id
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
returning run.status, due.seq, due.queue`);async function Vd(t,e,n,r){return t.transaction("runs.clear-quarantine",async o=>{let i=(await N(o,[e])).get(e.runId);if(i===void 0)return null;let[a]=await o.run(Mh,[e.tenantId,e.runId]);if(a===void 0)return{cleared:!1,status:i,resumption:null};await Je(o,e,{...n,act:"clear",subject:"quarantine"});let d=await X(o,e);if(d!==null)return{cleared:!0,status:d,resumption:null};let u=await Ie(o,e,r);if(u!==null)return{cleared:!0,status:"QUEUED",resumption:u};let l=p(a),[c,m]=[l.numberOrNull("seq"),l.textOrNull("queue")],f=c===null||m===null?null:{...e,enqueueSeq:c,queue:m};return{cleared:!0,status:l.text("status"),resumption:f}})}s(Vd,"clearQuarantine");var Xd=`run.tenant_id, run.run_id, run.parent_run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.deadline_at, run.starts_at,
  run.created_at, run.started_at, run.finished_at`,zh=y("runs.get",`
select ${Xd}, run.request_digest, run.input_text, run.input_digest, run.output_text, run.error_text
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),Zd=`
where run.tenant_id = $1
  and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)`,ai=`
order by run.created_at desc, run.run_id desc
limit $4`,eu=`${Xd}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`,si=s((t,e)=>y(`runs.page-${t}`,`
select ${eu}
from ghouls.runs run${Zd}
  ${e}${ai}`),"page"),Qd=s((t,e)=>y(`runs.page-${t}`,`
select ${eu}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${Zd}
  and run.status = wanted.status ${e}${ai}
) as run${ai}`),"pageOfStatuses"),an={all:si("all",""),status:Qd("status",""),workflow:si("workflow","and run.workflow_name = $5"),both:Qd("status-workflow","and run.workflow_name = $6"),attention:si("attention","and (run.attention_at is not null or run.quarantined_at is not null)")},Gh=y("deliveries.of-run",`
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2
order by d.seq`);async function tu(t,e){let[n]=await t.run(zh,[e.tenantId,e.runId]);if(n===void 0)return null;let r=p(n);return{...ou(r),requestDigest:r.text("request_digest"),inputText:r.textOrNull("input_text"),inputDigest:r.text("input_digest"),outputText:r.textOrNull("output_text"),errorText:r.textOrNull("error_text")}}s(tu,"readRun");async function nu(t,e,n,r){let[o,i]=r.cursor===void 0?Uh:Kh(r.cursor),[a,d]=Fh(n),u=await t.run(a,[e,o,i,r.limit+1,...d]),l=u.slice(0,r.limit),c=l.at(-1);return{runs:l.map(m=>ou(p(m))),nextCursor:u.length>r.limit&&c!==void 0?Wh(c):null}}s(nu,"readRunPage");function Fh(t){let{status:e,workflow:n,attention:r}=t;if(r===!0){if(e!==void 0||n!==void 0)throw new k("invalid_request","the attention filter does not combine with others yet",{fix:"Ask with attention alone, and choose among what comes back."});return[an.attention,[]]}return e!==void 0&&n!==void 0?[an.both,[e,n]]:e!==void 0?[an.status,[e]]:n!==void 0?[an.workflow,[n]]:[an.all,[]]}s(Fh,"choose");var Uh=["100000000000000000","ffffffff-ffff-ffff-ffff-ffffffffffff"];function Wh(t){return`${p(t).text("created_micros")}.${p(t).text("run_id")}`}s(Wh,"cursorOf");function Kh(t){let e=/^(\d{1,17})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(t);if(e===null)throw new k("invalid_request","this cursor is not one of ours",{fix:"Pass nextCursor of the page before unchanged, or leave it out for the first page."});return[e[1],e[2]]}s(Kh,"parseCursor");async function ru(t,e){return(await t.run(Gh,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{seq:o.number("seq"),cause:o.text("cause"),status:o.text("status"),outcome:o.textOrNull("outcome"),dueAt:o.date("due_at"),createdAt:o.date("created_at"),publishedAt:o.dateOrNull("published_at"),publications:o.number("publications"),claimedAt:o.dateOrNull("claimed_at"),claimedBy:o.textOrNull("claimed_by"),leaseUntil:o.dateOrNull("lease_until"),workerEndedAt:o.dateOrNull("worker_ended_at"),workerEnd:o.textOrNull("worker_end"),settledAt:o.dateOrNull("settled_at"),fencedAt:o.dateOrNull("fenced_at"),holdExpiresAt:o.dateOrNull("hold_expires_at")}})}s(ru,"readDeliveries");function ou(t){return{tenantId:t.text("tenant_id"),runId:t.text("run_id"),parentRunId:t.textOrNull("parent_run_id"),idempotencyKey:t.textOrNull("idempotency_key"),workflow:{name:t.text("workflow_name"),version:t.number("workflow_version"),digest:t.text("workflow_digest")},queue:t.text("queue"),priority:t.number("priority"),agent:t.textOrNull("agent"),requestedBy:t.text("requested_by"),status:t.text("status"),enqueueSeq:t.number("enqueue_seq"),journalLength:t.number("journal_length"),errorCode:t.textOrNull("error_code"),attention:Yd(t,"attention_reason","attention_at"),quarantine:Yd(t,"quarantine_reason","quarantined_at"),pausedAt:t.dateOrNull("paused_at"),deadlineAt:t.dateOrNull("deadline_at"),createdAt:t.date("created_at"),startsAt:t.dateOrNull("starts_at"),startedAt:t.dateOrNull("started_at"),finishedAt:t.dateOrNull("finished_at")}}s(ou,"runOf");function Yd(t,e,n){let r=t.textOrNull(e),o=t.dateOrNull(n);return r===null||o===null?null:{reason:r,at:o}}s(Yd,"flag");var Hh=T("run").filter(t=>t==="QUEUED"||t.startsWith("AWAITING_")&&t!=="AWAITING_HARDWARE"),Jh=h("runs.repin",`
with r as materialized (
  select run.tenant_id, run.run_id, run.generation, run.enqueue_seq, run.workflow_absent_since
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(Hh)})
    and run.quarantined_at is null and run.workflow_digest = $3 and run.workflow_digest <> $4
  for update
), checkpoint as (
  update ghouls.checkpoints c
  set workflow_digest = $4
  from r
  where c.tenant_id = r.tenant_id and c.run_id = r.run_id and c.generation = r.generation
  returning c.run_id
), due as (
  update ghouls.deliveries d
  set due_at = least(d.due_at, ghouls.clock()), next_publication_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq and d.status = 'PENDING'
    and r.workflow_absent_since is not null
  returning d.run_id
)
update ghouls.runs run
set workflow_digest = $4, workflow_absent_since = null
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from checkpoint) >= 0
  and (select count(*) from due) >= 0
returning run.run_id`),Vh=y("runs.pin",`
select run.workflow_digest, run.quarantined_at is not null as quarantined
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`);async function iu(t,e,n,r){return t.transaction("runs.repin",async o=>{let i=(await N(o,[e])).get(e.runId);if(i===void 0)return null;let{from:a,to:d}=n;if((await o.run(Jh,[e.tenantId,e.runId,a,d])).length===0){let[l]=await o.run(Vh,[e.tenantId,e.runId]),c=p(l??{});return{repinned:!1,status:i,digest:c.text("workflow_digest"),quarantined:c.boolean("quarantined")}}return await Je(o,e,{...r,act:"repin",subject:`workflow ${a} to ${d}`}),{repinned:!0,status:i,digest:d,quarantined:!1}})}s(iu,"repinRunIfUnclaimed");var Yh=h("runs.restart",`
with ${M(j)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), arms_closed as (
  update ghouls.arms a
  set closed_at = settled.settled_at, closing = 'restart'
  from settled
  where a.tenant_id = settled.tenant_id and a.run_id = settled.run_id and a.closed_at is null
  returning a.run_id
), consents_closed as (
  update ghouls.consents c
  set status = 'CANCELLED', closed_at = settled.settled_at, closed_by = 'the restart of its run'
  from settled
  where c.tenant_id = settled.tenant_id and c.run_id = settled.run_id and c.status = 'PENDING'
  returning c.run_id
), attempts_dropped as (
  update ghouls.attempts t
  set status = case when t.status = 'DEFINED' then 'CANCELLED' else t.status end,
    closed_at = case when t.status = 'DEFINED' then settled.settled_at end,
    closed_by = case when t.status = 'DEFINED' then 'the restart of its run' end,
    next_look_at = case when t.status = 'DEFINED' then null else settled.settled_at end, looks = 0,
    cancel_asked_at = coalesce(t.cancel_asked_at, settled.settled_at), cancel_reason = coalesce(t.cancel_reason, 'restart')
  from settled
  where t.tenant_id = settled.tenant_id and t.run_id = settled.run_id and t.status not in (${I(de)})
  returning t.run_id
), child_items as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select child.tenant_id, child.parent_run_id, 'child', child.run_id::text, settled.seq, child.run_id, 'run ' || child.run_id,
    settled.settled_at, settled.settled_at
  from settled
  join ghouls.runs child on child.tenant_id = settled.tenant_id and child.parent_run_id = settled.run_id
  where child.parent_close <> 'abandon' and child.status not in (${I(be("run"))})
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0,
    epoch = run.epoch + 1, journal_start = run.journal_length, journal_bytes = 0, input_text = $7, input_digest = $8,
    starts_at = settled.settled_at, open_items = run.open_items + (select count(*) from child_items)::integer
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id and run.epoch = $9
    and (select count(*) from arms_closed) >= 0 and (select count(*) from consents_closed) >= 0
    and (select count(*) from attempts_dropped) >= 0
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, run.journal_start, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, moved.journal_start, $6, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $10::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`);async function su(t,e,n,r){let[o]=await t.run(Yh,[e.tenantId,e.runId,e.seq,e.token,n.workflowDigest,n.journalDigest,n.inputText,n.inputDigest,n.epoch,r.publisherGraceSeconds]);return o===void 0?Zn(t,e,"continued"):Ve(o)}s(su,"restartIfClaimed");var Zh=y("capacities.read",`
select c.name, c.units
from ghouls.capacities c
where c.name = any($1::text[])`),au=h("capacities.lock",`
select c.name
from ghouls.capacities c
where c.name = any($1::text[])
order by c.name
for update`),ey=h("capacities.record",`
insert into ghouls.capacities as c (name, units, updated_at)
select q.name, q.units, ghouls.clock()
from unnest($1::text[], $2::integer[]) as q(name, units)
order by q.name
on conflict (name) do update set units = excluded.units, updated_at = excluded.updated_at
where c.units <> excluded.units`);async function du(t,e){let n=Object.keys(e);if(n.length===0)return;let r=await t.run(Zh,[n]),o=new Map(r.map(i=>[p(i).text("name"),p(i).number("units")]));n.every(i=>o.get(i)===e[i])||await t.transaction("capacities.record",async i=>{await i.run(au,[n]),await i.run(ey,[n,Object.values(e)])})}s(du,"recordCapacities");async function uu(t,e){return(await t.run(au,[[e]])).length===1}s(uu,"lockCapacity");var dr=s(t=>`${t}.tenant_id = held.tenant_id and ${t}.run_id = held.run_id and ${t}.epoch = $5
      and ${t}.scope = $6 and ${t}.name = $7 and ${t}.nth = $8`,"OF_CALL"),ny=h("reservations.take",`
with ${M(j)}, asked as materialized (
  select x.reservation_id, x.status
  from held
  join ghouls.reservations x on ${dr("x")} and x.status in ('WAITING', 'HELD')
), since as materialized (
  select coalesce(min(x.asked_at), ghouls.clock()) as asked_at
  from held
  left join ghouls.reservations x on ${dr("x")} and x.held_at is null
    and x.asked_at > coalesce((select max(h.held_at) from ghouls.reservations h where ${dr("h")}), 'epoch')
), acting as materialized (
  select x.tenant_id, x.run_id, x.reservation_id, x.units, exists (
      select from ghouls.containment_items i
      where i.tenant_id = x.tenant_id and i.run_id = x.run_id and i.kind = 'worker' and i.key = x.seq::text
        and i.acknowledged_at is null) as acts
  from held
  join ghouls.reservations x on x.capacity = $9 and x.status = 'LEFT'
), ended as (
  update ghouls.reservations x
  set status = 'RELEASED', released_at = ghouls.clock()
  from acting
  where x.tenant_id = acting.tenant_id and x.run_id = acting.run_id and x.reservation_id = acting.reservation_id and not acting.acts
  returning x.run_id
), free as materialized (
  select c.units
    - (select coalesce(sum(x.units), 0) from ghouls.reservations x where x.capacity = $9 and x.status = 'HELD')
    - (select coalesce(sum(a.units), 0) from acting a where a.acts) as units
  from ghouls.capacities c
  where c.name = $9
), judged as materialized (
  select held.tenant_id, held.run_id, held.seq, held.token, held.journal_length, since.asked_at, asked.status as stood,
    coalesce(asked.reservation_id, $12::uuid) as reservation_id,
    case
      when not $13::boolean and exists (select from ghouls.journal x where ${dr("x")} and x.kind = 'reserve') then 'said'
      when asked.status = 'HELD' then 'held'
      when free.units >= $10::integer and not exists (
        select from ghouls.reservations x
        join ghouls.deliveries d on d.tenant_id = x.tenant_id and d.run_id = x.run_id and d.seq = x.seq
        where x.capacity = $9 and x.status = 'WAITING' and x.run_id <> held.run_id
          and (x.asked_at, x.reservation_id) < (since.asked_at, coalesce(asked.reservation_id, $12::uuid))
          and d.status = 'CLAIMED' and d.lease_until >= ghouls.clock()) then 'taken'
      when not $13::boolean and since.asked_at + $11::double precision * interval '1 second' <= ghouls.clock() then 'over'
      else 'waits'
    end as answer
  from held
  cross join since
  cross join free
  left join asked on true
), changed as (
  update ghouls.reservations x
  set status = case judged.answer when 'taken' then 'HELD' else 'RELEASED' end,
    holder = case judged.answer when 'taken' then judged.run_id end,
    held_at = case judged.answer when 'taken' then ghouls.clock() end,
    released_at = case judged.answer when 'over' then ghouls.clock() end
  from judged
  where x.tenant_id = judged.tenant_id and x.run_id = judged.run_id and x.reservation_id = judged.reservation_id
    and judged.stood = 'WAITING' and judged.answer in ('taken', 'over')
  returning x.run_id
), made as (
  insert into ghouls.reservations (tenant_id, run_id, reservation_id, epoch, scope, name, nth, capacity, units, seq, token, holder,
    status, asked_at, held_at)
  select judged.tenant_id, judged.run_id, judged.reservation_id, $5, $6, $7, $8, $9, $10, judged.seq, judged.token, judged.run_id,
    case judged.answer when 'taken' then 'HELD' else 'WAITING' end, judged.asked_at,
    case judged.answer when 'taken' then ghouls.clock() end
  from judged
  where judged.stood is null and judged.answer in ('taken', 'waits')
  returning run_id
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at)
  select judged.tenant_id, judged.run_id, judged.journal_length + 1, $5, $6, 'reserve', $7, $8, 'ok',
    case judged.answer when 'taken' then $14 else $16 end, case judged.answer when 'taken' then $15 else $17 end,
    1, judged.seq, judged.token, date_trunc('milliseconds', judged.asked_at), date_trunc('milliseconds', ghouls.clock())
  from judged
  where judged.answer = 'over' or (judged.answer = 'taken' and not $13::boolean)
  returning run_id, ordinal, completed_at, octet_length(result_text) as bytes
), moved as (
  update ghouls.runs run
  set reservations = run.reservations + (select count(*) from made)::integer,
    journal_length = coalesce(entry.ordinal, run.journal_length),
    journal_bytes = run.journal_bytes + coalesce(entry.bytes, 0),
    losses = case when entry.ordinal is null then run.losses else 0 end,
    idle_yields = case when entry.ordinal is null then run.idle_yields else 0 end,
    status = case when judged.answer = 'waits' or exists (
        select from ghouls.reservations x
        where x.tenant_id = run.tenant_id and x.holder = run.run_id and x.status = 'WAITING'
          and x.reservation_id <> judged.reservation_id) then 'AWAITING_HARDWARE' else 'RUNNING' end
  from judged
  left join entry on entry.run_id = judged.run_id
  where run.tenant_id = judged.tenant_id and run.run_id = judged.run_id and judged.answer in ('taken', 'over', 'waits')
    and (judged.answer <> 'waits' or judged.stood is null)
  returning run.run_id
)
select judged.answer, entry.ordinal, entry.completed_at
from judged
left join entry on entry.run_id = judged.run_id
where (select count(*) from ended) >= 0 and (select count(*) from changed) >= 0 and (select count(*) from moved) >= 0`),ry=y("reservations.said",`
select j.ordinal, j.completed_at, j.result_digest = $8 as reserved
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = 'reserve' and j.name = $5
  and j.nth = $6 and j.token = $7::uuid`);async function lu(t,e,n){let{call:r,capacity:o,units:i,waitSeconds:a,reservationId:d,retake:u,reserved:l,unavailable:c}=n;return t.transaction("reservations.take",async m=>{if(await N(m,[e]),!await uu(m,o))return{kind:"unknown_capacity"};let[f]=await m.run(ny,[e.tenantId,e.runId,e.seq,e.token,r.epoch,r.scope,r.name,r.nth,o,i,a,d,u,l.text,l.digest,c.text,c.digest]);if(f===void 0)return null;switch(p(f).text("answer")){case"said":return oy(m,e,n);case"waits":return{kind:"waits"};case"over":return{kind:"unavailable",entry:St(f)};default:return{kind:"held",entry:f.ordinal===null?null:St(f)}}})}s(lu,"takeIfClaimed");async function oy(t,e,{call:n,reserved:r}){let{tenantId:o,runId:i,token:a}=e,[d]=await t.run(ry,[o,i,n.epoch,n.scope,n.name,n.nth,a,r.digest]);return d===void 0?null:{kind:d.reserved===!0?"held":"unavailable",entry:St(d)}}s(oy,"answeredBefore");function St(t){let e=p(t);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}s(St,"journaled");var sy=h("reservations.release",`
with ${M(j)}, released as (
  update ghouls.reservations x
  set status = 'RELEASED', holder = null, released_at = ghouls.clock()
  from held
  where x.tenant_id = held.tenant_id and x.run_id = held.run_id and x.epoch = $5 and x.scope = $6 and x.name = $7 and x.nth = $8
    and x.status = 'HELD' and x.token = held.token
  returning x.tenant_id, x.run_id, x.held_at
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, tries, seq, token, started_at,
    completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $9, 'release', $7, $10, 'ok', 1, held.seq, held.token,
    date_trunc('milliseconds', coalesce(released.held_at, ghouls.clock())), date_trunc('milliseconds', ghouls.clock())
  from held
  left join released on released.tenant_id = held.tenant_id and released.run_id = held.run_id
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, losses = 0, idle_yields = 0
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id`),ay=y("reservations.released",`
select j.ordinal, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = 'release' and j.name = $5
  and j.nth = $6 and j.token = $7::uuid`),dy=h("reservations.withdraw",`
with ${M(j)}, withdrawn as (
  update ghouls.reservations x
  set status = 'RELEASED', holder = null, released_at = ghouls.clock()
  from held
  where x.tenant_id = held.tenant_id and x.holder = held.run_id and x.status = 'WAITING'
  returning x.run_id
)
update ghouls.runs run
set status = 'RUNNING'
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id and (select count(*) from withdrawn) >= 0
returning run.run_id`);async function cu(t,e,n,r){let[o]=await t.run(sy,[e.tenantId,e.runId,e.seq,e.token,n.epoch,n.scope,n.name,n.nth,r.scope,r.nth]);if(o!==void 0)return St(o);let{tenantId:i,runId:a,token:d}=e,[u]=await t.run(ay,[i,a,r.epoch,r.scope,r.name,r.nth,d]);return u===void 0?null:St(u)}s(cu,"releaseIfClaimed");async function mu(t,e){return(await t.run(dy,[e.tenantId,e.runId,e.seq,e.token])).length===1}s(mu,"withdrawIfClaimed");var ly=y("reservations.of-run",`
select x.capacity, x.units, x.name, x.scope, x.status, x.asked_at, x.held_at
from ghouls.reservations x
where x.tenant_id = $1 and x.run_id = $2 and (x.status in ('WAITING', 'HELD') or (x.status = 'LEFT' and exists (
  select from ghouls.containment_items i
  where i.tenant_id = x.tenant_id and i.run_id = x.run_id and i.kind = 'worker' and i.key = x.seq::text
    and i.acknowledged_at is null)))
order by x.asked_at, x.reservation_id`);async function fu(t,e){return(await t.run(ly,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{capacity:o.text("capacity"),units:o.number("units"),name:o.text("name"),scope:o.text("scope"),status:o.text("status"),askedAt:o.date("asked_at"),heldAt:o.dateOrNull("held_at")}})}s(fu,"readReservations");var dn=1e3,my=y("signals.by-key",`
select s.signal_id, s.request_digest
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and (s.idempotency_key = $3 or s.signal_id = $4::uuid)`),fy=y("signals.buffered",`
select count(*)::integer as buffered, count(*) filter (where s.name = $3)::integer as of_name,
  (select count(*) from ghouls.arms a
    where a.tenant_id = $1 and a.run_id = $2 and a.owner = 'signal' and a.name = $3 and a.closed_at is null)::integer as awaited
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and s.consumed_at is null`),py=h("signals.keep",`
insert into ghouls.signals (tenant_id, run_id, signal_id, name, idempotency_key, request_digest, payload_text, payload_digest,
  sent_by, received_at)
select run.tenant_id, run.run_id, $3, $4, $5, $6, $7, $8, $9, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2
on conflict (tenant_id, run_id, idempotency_key) do nothing
returning signal_id`);async function pu(t,e,n){return t.transaction("signals.keep",async r=>{let{tenantId:o,runId:i,signalId:a,idempotencyKey:d}=e,u=(await N(r,[e])).get(i);if(u===void 0)return null;let[l]=await r.run(my,[o,i,d,a]);if(l!==void 0){let m=p(l);return m.text("request_digest")!==e.requestDigest?{kind:"conflict"}:{kind:"kept",signalId:m.text("signal_id"),repeated:!0,resumption:null}}if(xe(u)||J.includes(u))return{kind:"ended",status:u};if(await gy(r,e))return{kind:"full"};await r.run(py,[o,i,a,e.name,d,e.requestDigest,e.payloadText,e.payloadDigest,e.sentBy]);let c=await Ie(r,e,n.publisherGraceSeconds);return{kind:"kept",signalId:a,repeated:!1,resumption:c}})}s(pu,"keepSignal");async function gy(t,{tenantId:e,runId:n,name:r}){let[o]=await t.run(fy,[e,n,r]);if(o===void 0)return!1;let i=p(o);return i.number("buffered")>=dn&&i.number("of_name")>=i.number("awaited")}s(gy,"isFull");var yy=y("transactions.limit",`
select pg_current_xact_id()::text as xid, set_config('statement_timeout', $1::text, true) as statement_timeout,
  set_config('lock_timeout', $1::text, true) as lock_timeout,
  set_config('idle_in_transaction_session_timeout', $1::text, true) as idle_timeout`),_y=1e3;async function gu(t,e,n){if(!await t.turns.take(n))return null;let r=!0,o=s(()=>{r&&t.turns.give(),r=!1},"giveBack");try{let i=await t.begin("transactions",e+_y,o);try{return{open:i,xid:await di(i,e),rollback:s(a=>i.rollback(a),"rollback")}}catch(a){throw await i.rollback(),a}}catch(i){throw o(),i}}s(gu,"beginUserTransaction");async function di(t,e){let[n]=await t.run(yy,[String(Math.max(1,Math.ceil(e)))]);return p(n??{}).text("xid")}s(di,"limit");async function hu(t,{open:e},n){await di(e,n)}s(hu,"limitTransaction");async function yu(t,{open:e},n,r){return e.ask(n,r)}s(yu,"askInTransaction");async function _u(t,{open:e,xid:n},r,o,i){let a="limit";try{if(await di(e,i)!==n)return{kind:"left"};a="entry";let d=await oi(e,r,o);return d===null?{kind:"fenced"}:(a="commit",await e.commit(),{kind:"committed",...d})}catch(d){let u=d instanceof q?d:wy(d);return a==="commit"&&(u.kind==="unknown"||u!==d)?{kind:"unknown",error:u}:{kind:"rolled_back",at:a,error:u}}finally{await e.rollback()}}s(_u,"commitEntryIfClaimed");function wy(t){return new q("unavailable","transactions",void 0,t)}s(wy,"lost");async function wu(t,e,n){return t.transaction("transactions.read-back",async r=>(await N(r,[e]),ii(r,e,n)))}s(wu,"readEntryBack");var by=h("workflows.record",`
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`),xy=y("workflows.build-of",`
select w.build
from ghouls.workflows w
where w.name = $1 and w.digest = $2
order by w.last_seen_at desc
limit 1`);async function ku(t,e,n){await t.run(by,[e.map(r=>r.name),e.map(r=>r.version),e.map(r=>r.digest),n])}s(ku,"recordWorkflows");async function bu(t,e){let[n]=await t.run(xy,[e.name,e.digest]);return n===void 0?null:p(n).text("build")}s(bu,"readBuildOf");function x(t,e){return((...n)=>e(t,...n))}s(x,"bind");function le(t,e,n){return(async(...r)=>(await e(),n(t,...r)))}s(le,"opening");function Iy(t,e,n,r){return qo(e,n,r)}s(Iy,"admitIn");function xu(t){let e=new Wn(t),n=t.beforeOpening??(()=>Promise.resolve());return{schema:e.schema,runs:{admit:le(e,n,qo),admitIn:le(e,n,Iy),byKey:x(e,bt),byId:x(e,Tn),get:x(e,tu),page:x(e,nu),openOfPins:x(e,Fd),stranded:x(e,Ud),repinIfUnclaimed:x(e,iu),raiseAttention:x(e,Bn),quarantineIfClaimed:x(e,ua),adoptIfClaimed:x(e,Aa),clearAbsenceIfClaimed:x(e,va),cancel:le(e,n,Ho),clearQuarantine:le(e,n,Vd),overdue:x(e,Ha),failOverdue:x(e,Ja),restartIfClaimed:x(e,su),resume:le(e,n,Fo),resumeDue:x(e,Fo)},deliveries:{releaseIfHeld:le(e,n,Ns),claimIfDue:le(e,n,Sd),unclaimed:x(e,Cd),settleIfClaimed:x(e,aa),duePublications:x(e,Kd),markPublished:x(e,Bd),markPublicationFailed:x(e,Hd),settleContainIfClaimed:x(e,da),beatIfClaimed:x(e,ja),parkIfClaimed:x(e,Md),yieldStandingIfClaimed:x(e,jd),beatOfWorker:x(e,Ma),yieldIfClaimed:x(e,Xn),giveBackIfClaimed:x(e,Ia),wereGivenBack:x(e,Va),lapsed:x(e,wd),settleLost:x(e,kd),expiredHolds:x(e,td),expireHolds:x(e,nd),recordWorkerEnd:le(e,n,Rd),ofRun:x(e,ru)},journal:{appendIfClaimed:x(e,$d),read:x(e,qd)},transactions:{begin:x(e,gu),ask:x(e,yu),limit:x(e,hu),commitIfClaimed:x(e,_u),readBack:x(e,wu)},checkpoints:{read:x(e,Sa)},intents:{openIfClaimed:x(e,od),closeIfClaimed:x(e,id),openOfRun:x(e,sd),lastOfRun:x(e,ad)},items:{ofRun:x(e,dd),due:x(e,ud),contain:x(e,ti),containSooner:le(e,n,ti),acknowledge:le(e,n,Bo),acknowledgeWorker:le(e,n,Ca)},arms:{openOfRun:x(e,on),retriesOfRun:x(e,Ga),runOf:x(e,ca),due:x(e,ma)},consents:{get:x(e,nr),page:x(e,Ka),decisions:x(e,Vo),decide:le(e,n,Wa),toLookUp:x(e,yd),postponeLookUp:x(e,_d)},attempts:{get:x(e,ga),forCallback:x(e,ha),page:x(e,wa),due:x(e,ya),definedOfRun:x(e,_a),claimSubmission:x(e,Ta),askToCancel:x(e,qa),change:le(e,n,Na),keepContradiction:x(e,Pa)},children:{startIfClaimed:x(e,Id),ends:x(e,bd),tellParent:x(e,xd),toCancel:x(e,Ed),cancel:x(e,Ho)},capacities:{record:x(e,du)},reservations:{takeIfClaimed:x(e,lu),releaseIfClaimed:x(e,cu),withdrawIfClaimed:x(e,mu),ofRun:x(e,fu)},signals:{keep:le(e,n,pu)},evidence:{reject:x(e,za)},workflows:{record:x(e,ku),buildOf:x(e,bu)},keys:{byId:x(e,sr),markUsed:x(e,ld),page:x(e,md),create:x(e,cd),revoke:x(e,fd),rolesOfSubject:x(e,pd)},grants:{live:x(e,Qa),page:x(e,Xa),create:x(e,Ya),revoke:x(e,Za)},nextLook:x(e,Pd),beforeOpening:n,doctor:s(()=>ia(e),"doctor"),schemaVersion:s(()=>Mo(e),"schemaVersion"),transaction:e.transaction.bind(e),close:s(()=>e.close(),"close")}}s(xu,"openLedger");var ui="ghouls_app";function Eu(t,e){return`
grant usage on schema ${t} to ${e};
grant select on ${t}.migrations to ${e};
grant select, insert, update on ${t}.workflows to ${e};
grant select, insert, update on ${t}.runs to ${e};
grant select, insert, update on ${t}.deliveries to ${e};
grant select, insert on ${t}.journal to ${e};
grant select, insert on ${t}.checkpoints to ${e};
grant select, insert, update on ${t}.containment_items to ${e};
grant select, insert, update on ${t}.intents to ${e};
grant select, insert, update on ${t}.waits to ${e};
grant select, insert, update on ${t}.arms to ${e};
grant select, insert, update on ${t}.consents to ${e};
grant select, insert on ${t}.consent_decisions to ${e};
grant select, insert, update on ${t}.signals to ${e};
grant select, insert, update on ${t}.attempts to ${e};
grant select, insert, delete on ${t}.child_ends to ${e};
grant select, insert, update on ${t}.capacities to ${e};
grant select, insert, update on ${t}.reservations to ${e};
grant select, insert on ${t}.evidence to ${e};
grant select, insert on ${t}.audit to ${e};
grant select, update (last_used_at) on ${t}.api_keys to ${e};
grant select on ${t}.grants to ${e};
grant select on ${t}.doctor_open_deliveries to ${e};
grant select on ${t}.doctor_working_runs to ${e};
grant select on ${t}.doctor_attempts to ${e};
grant select on ${t}.doctor_children to ${e};
grant select on ${t}.units_in_use to ${e};
grant select on ${t}.doctor_reservations to ${e};
grant select on ${t}.doctor_contradicted_attempts to ${e};
grant select on ${t}.doctor_terminal_runs to ${e};
grant select on ${t}.doctor_pending_deliveries to ${e};
grant select on ${t}.doctor_journals to ${e};
grant select on ${t}.doctor_open_items to ${e};
grant select on ${t}.doctor_endings to ${e};
grant select on ${t}.doctor_waits to ${e};
grant select on ${t}.doctor_ended_waits to ${e};
grant select on ${t}.doctor_lost_claims to ${e};
grant select on ${t}.doctor_quarantined_runs to ${e};
grant select on ${t}.doctor_runs_with_attention to ${e};
`}s(Eu,"grantsSql");function Iu(t){return`
do $$ begin
  if not exists (select from pg_namespace where nspname = '${t}') then create schema ${t}; end if;
end $$;
create table if not exists ${t}.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default statement_timestamp()
);
`}s(Iu,"prologueSql");function vu(t,e){return`${ut(t.sql,e)}
insert into ${e}.migrations (number, name) values (${t.number}, '${t.name}');
`}s(vu,"stepSql");function Au(t={}){let{schema:e,role:n}=Cu(t);return["begin;",Iu(e).trim(),...Et.map(r=>`-- ${r.number} ${r.name}
${vu(r,e).trim()}`),Eu(e,n).trim(),"commit;",""].join(`

`)}s(Au,"migrationSql");async function Su(t){let{schema:e,role:n}=Cu(t),r=new xt({...t,maxConnections:1,answerTimeoutMs:0,applicationName:"ghouls-migrate"}),o=r.patience();try{let i=await r.connect("the migration",o);try{return await vy(i,e,n)}finally{i.release(!0)}}catch(i){throw Ay(i,n)}finally{o.end(),await r.close()}}s(Su,"migrate");async function vy(t,e,n){await t.query("begin"),await t.query({text:"select pg_advisory_xact_lock(hashtextextended($1, 0))",values:[`ghouls-migrate:${e}`]}),await t.query(Iu(e));let o=await t.query(`select number from ${e}.migrations order by number`),i=Number(o.rows.at(-1)?.number??0),a=Et.at(-1)?.number??0;if(i>a)throw new k("configuration_invalid",`the schema is at migration ${i}, this code knows ${a}`,{fix:"Run the newer version of ghouls."});let d=Et.filter(l=>l.number>i);for(let l of d)await t.query(vu(l,e));await t.query(Eu(e,n));let u=await t.query("commit");if(u.command!=="COMMIT")throw new Error(`the migration's COMMIT answered ${u.command}`);return{applied:d.map(({number:l,name:c})=>({number:l,name:c})),version:a}}s(vy,"applyMissing");function Cu(t){let e=t.schema??wt,n=t.applicationRole??ui;return kt(e,"the schema name"),kt(n,"the application's role"),{schema:e,role:n}}s(Cu,"named");function Ay(t,e){let n=typeof t=="object"&&t!==null&&"code"in t?t.code:void 0;return n==="42501"?new k("configuration_invalid","this role may not change the schema",{fix:"Give the migrator's connection string: the application's role owns nothing and has no DDL.",cause:t}):n==="42704"?new k("configuration_invalid",`the application's role "${e}" does not exist`,{fix:`Create it (create role ${e} login), or name yours with --app-role.`,cause:t}):t}s(Ay,"readable");import ur from"pg";var Sy={statement_timeout:"15s",lock_timeout:"5s",idle_in_transaction_session_timeout:"2s"};function li(t,e){let{schema:n,migrator:r,application:o}=t;for(let[a,d]of[["the schema name",n],["the migrator's role",r.name],["the application's role",o.name]])kt(d,a);let i=s(({name:a,password:d})=>[`do $$ begin if not exists (select from pg_roles where rolname = '${a}') then create role ${a} login; end if; end $$`,`do $$ begin if exists (select from pg_roles where rolname = '${a}' and (rolsuper or rolcreatedb or rolcreaterole)) then alter role ${a} nosuperuser nocreatedb nocreaterole; end if; end $$`,`alter role ${a} login password ${ur.escapeLiteral(d)}`],"role");return[...i(r),...i(o),...Object.entries(Sy).map(([a,d])=>`alter role ${o.name} set ${a} = '${d}'`),`do $$ begin if not pg_has_role('${r.name}', 'usage') then grant ${r.name} to current_user; end if; end $$`,`create schema if not exists ${n} authorization ${r.name}`,`grant connect on database ${ur.escapeIdentifier(e)} to ${r.name}, ${o.name}`,...t.mayCreateSchemas===!0?[`grant create on database ${ur.escapeIdentifier(e)} to ${r.name}`]:[]]}s(li,"rolesSql");async function Du(t,e){let n=new ur.Client({connectionString:t});n.on("error",()=>{}),await n.connect();try{let r=(await n.query("select current_database() as name")).rows[0]?.name??"";for(let o of li(e,r))await n.query(o)}finally{await n.end()}}s(Du,"createRoles");var Hc={};xn(Hc,{DEFAULT_EXECUTION_SETTINGS:()=>Lu,LiveRing:()=>Yr,Publisher:()=>Ct,Registry:()=>Or,StillAskingError:()=>lt,blameHop:()=>il,createAdmission:()=>Pu,createAnnouncement:()=>Ou,createAttempts:()=>gc,createConsents:()=>_c,createControl:()=>xc,createDirectEgress:()=>Tu,createKeyAuthenticator:()=>Ec,createKeyAuthority:()=>vc,createLedgerGrants:()=>Ac,createLowering:()=>zc,createReads:()=>Cc,createSignals:()=>Bc,endsWithin:()=>ve,isConsentStatus:()=>kc,reconcile:()=>Xr,reconcileWhenDue:()=>Wc,work:()=>cc});function $u(t,e){let n=[],r=!1,o=s(async()=>{for(r=!0;n.length>0;){let i=n.slice(0,t);n=n.slice(t);try{let a=await e(i.map(d=>d.item));i.forEach((d,u)=>d.resolve(a[u]))}catch(a){for(let d of i)d.reject(a)}}r=!1},"drain");return i=>new Promise((a,d)=>{n.push({item:i,resolve:a,reject:d}),r||(r=!0,queueMicrotask(()=>{o()}))})}s($u,"grouped");async function ve(t,e){let n=Promise.withResolvers(),r=setTimeout(()=>n.resolve(!1),Math.min(Math.max(0,e),2147483647));try{return await Promise.race([t.then(()=>!0),n.promise])}finally{clearTimeout(r)}}s(ve,"endsWithin");async function Fe(t,e){if(await ve(t,e))return t;throw new Error(`no answer within ${e} ms`)}s(Fe,"answerWithin");var Cy=100,Ct=class{static{s(this,"Publisher")}#e;#t;constructor(e){this.#e=e,this.#t=$u(Cy,n=>this.#n(n))}publish(e){return this.#t(e)}async#n(e){let{queue:n,log:r,faults:o}=this.#e;try{let{confirmed:i,failed:a}=await n.publish(e);for(let{publication:u,reason:l}of a)r.warn("a delivery could not be published; the relay will",{runId:u.runId,reason:l});await o("admission.after-publish",`${i.length} confirmed`),await this.#r(i,a);let d=new Set(i.map(({runId:u,enqueueSeq:l})=>`${u}:${l}`));return e.map(({runId:u,enqueueSeq:l})=>d.has(`${u}:${l}`)?"published":"failed")}catch(i){return r.warn("publications failed; the relay repeats them",{count:e.length,error:String(i).slice(0,200)}),e.map(()=>"failed")}}async#r(e,n){let{ledger:r,log:o}=this.#e;try{await r.deliveries.markPublished(e),await r.deliveries.markPublicationFailed(n)}catch(i){o.warn("publications could not be marked",{count:e.length,error:i.name})}}},Dy=2e3;async function Qe(t,e){let n=t.publish(e);return await ve(n,Dy)?n:"failed"}s(Qe,"publishInTime");function Ou({ledger:t,registry:e,capacities:n,build:r}){let o,i=s(async()=>{await t.workflows.record(e.carried(),r),await t.capacities.record(n)},"announce");return()=>(o??=i().catch(a=>{throw o=void 0,a}),o)}s(Ou,"createAnnouncement");async function ci(t){try{await t()}catch(e){throw!(e instanceof q)||e.kind!=="unknown"&&e.kind!=="busy"?e:new k("ledger_unavailable","nothing was admitted: this build could not say in the ledger which workflows it has",{fix:"Send the request again.",retryAfterSeconds:2,cause:e})}}s(ci,"announceOrRefuse");async function mi(t,e,n){let r=t.filter(u=>!e.has(u.runId)),o=r.flatMap(u=>u.idempotencyKey===null?[]:[{tenantId:u.tenantId,idempotencyKey:u.idempotencyKey}]),i=r.filter(u=>u.idempotencyKey===null),a=new Map((o.length>0?await n.byKey(o):[]).map(u=>[u.idempotencyKey,u])),d=new Map((i.length>0?await n.byId(i):[]).map(u=>[u.runId,u]));return t.map(u=>{let l=e.get(u.runId);if(l!==void 0)return{run:Ry(u,l),created:!0};let c=u.idempotencyKey===null?d.get(u.runId):a.get(u.idempotencyKey);if(c===void 0)throw new k("outcome_unknown","the ledger neither wrote the run nor holds its key",{fix:"Send the request again under the same Idempotency-Key.",retryAfterSeconds:1});return c.requestDigest!==u.requestDigest?{conflict:!0}:{run:c,created:c.runId===u.runId}})}s(mi,"settleKeys");function Ry(t,{startsAt:e,startsInSeconds:n}){let{tenantId:r,runId:o,idempotencyKey:i,requestDigest:a,workflow:d,queue:u,priority:l,held:c}=t;return{tenantId:r,runId:o,idempotencyKey:i,requestDigest:a,workflow:d,queue:u,priority:l,held:c,status:"QUEUED",enqueueSeq:1,unpublished:!c,startsAt:e,dueInSeconds:n}}s(Ry,"freshRun");function un({run:t,created:e}){let{runId:n,status:r,enqueueSeq:o,workflow:i,queue:a,priority:d,held:u,startsAt:l}=t;return{runId:n,created:e,status:r,enqueueSeq:o,workflow:i,queue:a,priority:d,held:u,startsAt:l?.toISOString()??null}}s(un,"admittedView");function lr(t){return new k("idempotency_conflict",`the idempotency key "${t}" was used for another request`,{fix:"Use a new key for a new request, or send the same request again."})}s(lr,"conflict");async function Nu(t,e){let n=[],r=[],o;for(let[i,a]of t.entries())try{n.push(await e(a))}catch(d){if(!(d instanceof k))throw d;o??=d;let u=d.issues??[{path:"",message:d.message}];r.push(...u.map(l=>({path:`/runs/${i}${l.path}`,message:l.message})))}if(o===void 0)return n;throw new k(o.code,`nothing was admitted: ${o.message}`,{issues:r.slice(0,50),...o.fix===void 0?{}:{fix:o.fix}})}s(Nu,"prepareAll");var $y=5,Oy="1h";async function cr(t,e,n){let{request:r}=n,o=Buffer.byteLength(n.inputText);if(o>at)throw new k("too_large",`the input is ${o} bytes of JSON, the limit is ${at}`,{fix:"Keep the material elsewhere and send a reference."});if(r.holdFor!==void 0&&r.held!==!0)throw new k("invalid_request","holdFor is for a run that is held",{issues:[{path:"/holdFor",message:"needs held: true"}],fix:"Add held: true, or leave holdFor out."});let i=JSON.parse(n.inputText),a=r.workflow===void 0?qy(t.route,{input:i,...r.agent===void 0?{}:{agent:r.agent}}):void 0,d=t.registry.choose(r.workflow??a.workflow,r.version);await Ly(d,i);let u=t.ids.next(),l=await t.codec.encode(n.inputText,{tenantId:e.tenantId,runId:u,kind:"input"});return{tenantId:e.tenantId,runId:u,idempotencyKey:n.idempotencyKey??null,requestDigest:await ge(t.codec,n.canonicalRequest),workflow:{name:d.definition.name,version:d.definition.version,digest:d.digest},queue:Py(t.queues,r.queue??a?.queue??d.definition.queue??Ut),priority:Ty(r.priority??a?.priority??$y),agent:r.agent??null,requestedBy:e.subject,requestedRoles:e.roles,inputText:l,inputDigest:D(l),deadlineMs:d.definition.deadlineMs??null,onWorkerLoss:d.definition.onWorkerLoss,held:r.held??!1,holdMs:G(r.holdFor??Oy),startAfter:Ny(r.startAfter)}}s(cr,"prepare");function Ny(t){return t===void 0?null:Se(t)?{ms:G(t)}:{at:new Date(t)}}s(Ny,"startAfterOf");async function ge(t,e){return t.digest?.(e)??D(e)}s(ge,"requestDigest");function qy(t,e){let n;try{n=t?.(e)}catch{throw new k("invalid_request","the route of the configuration could not choose a workflow for this request",{fix:"Name a workflow in the request."})}if(n===void 0)throw new k("invalid_request","the request names no workflow and the route chose none",{issues:[{path:"/workflow",message:"is missing"}],fix:"Name a workflow, or let `route` in the configuration choose one."});return n}s(qy,"routeOf");function Py(t,e){if(!t.includes(e))throw new k("unknown_queue",`there is no queue "${e}"`,{fix:`Configured are: ${t.join(", ")}.`});return e}s(Py,"queueOf");function Ty(t){if(!Number.isInteger(t)||t<0||t>9)throw new k("invalid_request",`a priority of ${t} is not taken`,{issues:[{path:"/priority",message:"must be a whole number from 0 to 9"}],fix:"Give a whole number from 0 to 9; 9 goes first."});return t}s(Ty,"priorityOf");async function Ly(t,e){let n=await My(t,e);if(n.length!==0)throw new k("input_invalid",`the input does not fit workflow "${t.definition.name}"`,{issues:n,fix:"Send an input of the workflow's schema; GET /v1/workflows shows it."})}s(Ly,"checkInput");async function My(t,e){try{let n=await t.definition.input.safeParseAsync(e);return n.success?[]:n.error.issues.slice(0,50).map(r=>({path:["","input",...r.path.map(String)].join("/"),message:r.message.slice(0,500)}))}catch{return[{path:"/input",message:"the workflow's schema failed on this input"}]}}s(My,"issuesOf");function Pu(t){let{ledger:e}=t,n=new Ct(t),r={lockTimeoutMs:t.lockTimeoutMs??2e3,publisherGraceSeconds:t.publisherGraceSeconds??15},o=s(async({tenantId:d,runId:u,enqueueSeq:l,queue:c,unpublished:m,dueInSeconds:f})=>{if(!m||f>me)return;let g={tenantId:d,runId:u,enqueueSeq:l,queue:c,...qu(f)};await Qe(n,g)},"publishIfUnpublished"),i=s(async(d,{idempotencyKey:u,canonicalRequest:l})=>{if(u===void 0)return;let[c]=await e.runs.byKey([{tenantId:d.tenantId,idempotencyKey:u}]);if(!(c===void 0||c.requestDigest!==await ge(t.codec,l)))return un({run:c,created:!1})},"admittedBefore"),a=s(async d=>{await ci(t.announce);let u=await e.runs.admit(d,r);await t.faults("admission.after-commit",`${u.size} created`);let l=await mi(d,u,e.runs);return await Promise.all(l.flatMap(c=>"run"in c?[o(c.run)]:[])),l},"commit");return{admit:s(async(d,u)=>{let l;try{l=await cr(t,d,u)}catch(m){let f=await i(d,u);if(f===void 0)throw m;return f}let[c]=await a([l]);if(c===void 0||"conflict"in c)throw lr(l.idempotencyKey);return un(c)},"admit"),admitBatch:s(async(d,u)=>{let l=await Nu(u,m=>cr(t,d,m));return{runs:(await a(l)).map((m,f)=>"run"in m?{outcome:"admitted",run:un(m)}:{outcome:"conflict",idempotencyKey:l[f]?.idempotencyKey??"",detail:lr(l[f]?.idempotencyKey??null).message})}},"admitBatch"),release:s(async(d,u)=>{let l={tenantId:d.tenantId,runId:u},c=W(u)&&await e.deliveries.releaseIfHeld(l,r.publisherGraceSeconds),[m]=W(u)?await e.runs.byId([l]):[];if(m===void 0)throw new k("not_found","there is no such run",{fix:"Check the run id."});await o(m);let f=m.status==="FAILING"||m.status==="FAILED"||m.status.startsWith("CANCEL");if(!c&&(f||m.held)){let g=f?`the run is ${m.status}`:"the hold has expired";throw new k("hold_ended",`${g}: there is nothing left to release`,{fix:"Admit a new run."})}return{runId:u,enqueueSeq:m.enqueueSeq,released:c}},"release"),admitIn:s(async(d,u,l)=>{let c=await cr(t,u,l);await ci(t.announce);let m=Mn(d,e.schema),f=await jn(m,async()=>{let g=await e.runs.admitIn(m,[c],r),[_]=await mi([c],g,{byKey:s(b=>bt(m,b),"byKey"),byId:s(()=>Promise.resolve([]),"byId")});return _});if(f===void 0||"conflict"in f)throw lr(c.idempotencyKey);return{admitted:un(f),tenantId:u.tenantId}},"admitIn"),publish:s(async({admitted:d,tenantId:u})=>{if(await e.beforeOpening(),d.held)return;let{runId:l,enqueueSeq:c,queue:m}=d,[f]=d.startsAt===null?[]:await e.runs.byId([{tenantId:u,runId:l}]),g=f?.dueInSeconds??0;g>me||await n.publish({tenantId:u,runId:l,enqueueSeq:c,queue:m,...qu(g)})},"publish")}}s(Pu,"createAdmission");function qu(t){return t>0?{delaySeconds:Math.min(me,Math.ceil(t))}:{}}s(qu,"delayOf");var jy=250,lt=class extends Error{static{s(this,"StillAskingError")}constructor(e){super(e),this.name="StillAskingError"}};function Tu({services:t,origins:e,stopMs:n=jy}){return{ask:s(async(r,o,i)=>{let a=Object.hasOwn(t,r)?t[r]:void 0;if(a===void 0)throw new Error(`the configuration has no service "${r.slice(0,100)}"`);let d=new AbortController,u={signal:d.signal,origins:e},l=zy(a,o,u),c=l.then(()=>{},()=>{});try{return vn(await Fe(l,i))}catch(m){if(d.abort(new DOMException("the question has ended","AbortError")),!await ve(c,n))throw new lt(E(m).message);let f=await l.then(vn,()=>{});if(f===void 0||f.state==="unknown")throw m;return f}finally{d.abort(new DOMException("the question has ended","AbortError"))}},"ask")}}s(Tu,"createDirectEgress");async function zy(t,e,n){return e.kind==="submit"?t.submit(e.job,n):t[e.kind](e.job,n)}s(zy,"put");var Lu={replayPatienceMs:1e3,settleReserveMs:2e3,transactionLimitMs:5e3,residentDelayMs:dt,reservePollMs:1e3,residentReserveMs:Number.POSITIVE_INFINITY,parkRestMs:25,overdueAfterMs:6e4,actsMarginSeconds:60,leaseMs:12e4,beatMs:3e4,maxLosses:3,maxContainDeliveries:3,deployOverlapMs:36e5,ownerDeadlineMs:1e4,giveBacksBeforeAttention:10,publisherGraceSeconds:15,replayCheck:!1,leaseHeld:!1};var Xe=3e4;function $(t,e,n){return{kind:"failed",failure:{code:t,name:"Refused",message:e,...n===void 0?{}:{step:n}}}}s($,"refusal");function Ye(t){return t.kind==="yielded"||t.kind==="given_back"}s(Ye,"handsOver");function Mu(t,e){return t.kind==="fenced"||t.kind==="unknown"||e.kind==="restarted"&&Gy(t)?!0:Ye(e)&&!Ye(t)}s(Mu,"overrules");function Gy(t){return t.kind==="given_back"||t.kind==="failed"&&t.failure.code==="effect_unknown"}s(Gy,"isOfAnEffect");async function mr(t){try{return await t()}catch(e){return{kind:"unknown",error:e}}}s(mr,"whatStops");function fi(t){let e=Fy(t);if(e===void 0)return{kind:"failed",failure:{code:"workflow_failed",...E(t)}};let{name:n,message:r}=E(t);return{kind:"failed",failure:{code:"step_failed",name:n,message:r,...e}}}s(fi,"failureOf");function Fy(t){try{if(!(t instanceof st))return;let e=t.failure.stack;return{step:String(t.step),...typeof e=="string"?{stack:e}:{}}}catch{return}}s(Fy,"stepFailureIn");async function ju(t){let{options:e}=t;for(let n=t.triesBefore+1;;n+=1){let r=await Dt(t,n);if(r.outcome==="ok")return{outcome:"ok",value:r.value,tries:n};if(pi(r.thrown)||n>=e.tries)return{outcome:"error",failure:r.failure,tries:n};if(t.hopSignal.aborted)return{outcome:"abandoned",tries:n};t.log.warn("a try of a step failed",{step:t.name,try:n,error:r.failure.name});let i=ze(e.backoff,n+1,t.chance());if(i>t.residentDelayMs)return{outcome:"later",tries:n,delayMs:i};if(await Rt(i,t.hopSignal),t.hopSignal.aborted)return{outcome:"abandoned",tries:n};if(t.whyNotNow()!==void 0)return{outcome:"later",tries:n,delayMs:0}}}s(ju,"runStep");async function Dt(t,e){let{timeoutMs:n}=t.options,r=new AbortController,o=s(()=>r.abort(t.hopSignal.reason),"stop");t.hopSignal.addEventListener("abort",o,{once:!0}),t.hopSignal.aborted&&o();let i=!1,a=setTimeout(()=>{i=!0,r.abort(new DOMException(`step "${t.name}" did not end within ${n} ms`,"TimeoutError"))},n),d=setTimeout(t.onOverdue,n+t.overdueAfterMs);try{let{idempotencyKey:u,log:l}=t;return{outcome:"ok",value:await t.run({idempotencyKey:u,tryNumber:e,signal:r.signal,log:l})}}catch(u){let l=E(u);return{outcome:"error",thrown:u,failure:i?{name:"TimeoutError",message:`it did not end within ${n} ms (then: ${l.message.slice(0,500)})`}:l}}finally{clearTimeout(a),clearTimeout(d),t.hopSignal.removeEventListener("abort",o)}}s(Dt,"callOnce");function pi(t){return t instanceof ke?!0:t instanceof Error&&t.name==="NonRetryableError"}s(pi,"isNonRetryable");function Rt(t,e){return new Promise(n=>{if(e.aborted)return n();let r=s(()=>{clearTimeout(o),e.removeEventListener("abort",r),n()},"end"),o=setTimeout(r,t);e.addEventListener("abort",r,{once:!0})})}s(Rt,"pause");var Re=s(t=>({outcome:"stops",end:t}),"stops"),Uy=1e3,Wy=3e5;async function Gu(t,e){let n=t.lastNumber,r=t.triesUsed;if(t.openIntent!==void 0){let o=await By(t,t.openIntent,e);if(o!=="cannot_happen")return o}if(r>=t.options.tries)return zu(t,r,{name:"Error",message:"it did not happen"});for(;;){if(t.hopSignal.aborted)return{outcome:"abandoned",tries:r};let o=t.whyNotNow();if(o!==void 0)return Re(o);if(n+=1,r+=1,await e.faults("worker.before-intent",t.call.name),!await e.ledger.intents.openIfClaimed(t.claim,t.call,n))return Re({kind:"fenced"});await e.faults("worker.after-intent",t.call.name);let i=await Dt(Fu(t,t.call.name,t.run),r);if(i.outcome==="ok")return{outcome:"ok",value:i.value,tries:r,closesIntent:!0};if(!(i.thrown instanceof ht))return Ky(t,r,i.failure);if(!await e.ledger.intents.closeIfClaimed(t.claim,t.call,n,"not_done"))return Re({kind:"fenced"});if(t.tried(n,r),r>=t.options.tries||t.hopSignal.aborted)return zu(t,r,i.failure);let a=ze(t.options.backoff,r+1,e.chance());if(a>e.settings.residentDelayMs)return{outcome:"later",tries:r,delayMs:a};await Rt(a,t.hopSignal)}}s(Gu,"onceStep");function Fu(t,e,n){let{options:r,hopSignal:o,log:i,onOverdue:a,overdueAfterMs:d}=t,u=it(t.claim.firstRunId,t.call);return{name:e,run:n,options:r,hopSignal:o,log:i,onOverdue:a,overdueAfterMs:d,idempotencyKey:u}}s(Fu,"callOf");function zu(t,e,n){return t.log.warn("an effect has certainly not happened",{step:t.call.name,tries:e}),{outcome:"error",failure:n,tries:e}}s(zu,"failedForGood");function Ky(t,e,n){return t.probe===void 0?Re(fr(t,n.message)):(t.log.warn("the outcome of an effect is unknown; its probe is asked next",{step:t.call.name,try:e}),Re({kind:"given_back",dueAt:new Date(t.ledgerNowMs()+Uy),why:`the outcome of "${t.call.name}" is unknown`}))}s(Ky,"unknownOutcome");function fr(t,e){let{name:n}=t.call;return $("effect_unknown",`effect "${n}" may or may not have happened: ${e.slice(0,500)}`,n)}s(fr,"effectUnknown");async function By(t,e,n){if(!e.over){let i=e.overAt??new Date(t.ledgerNowMs()+Wy);return Re({kind:"given_back",dueAt:i,why:`an earlier worker may still carry out "${t.call.name}"`})}if(t.probe===void 0)return Re(fr(t,"its worker was lost, and it has no probe"));let r=await gi(t.probe,t);return typeof r=="string"?Re(fr(t,r)):r.outcome==="happened"?{outcome:"ok",value:r.result,tries:e.number,closesIntent:!0}:r.outcome==="unknown"?Re(fr(t,"its probe does not know")):await n.ledger.intents.closeIfClaimed(t.claim,t.call,e.number,"cannot_happen")?"cannot_happen":Re({kind:"fenced"})}s(By,"askAbout");async function gi(t,e){let n=await Dt(Fu(e,`probe of ${e.call.name}`,t),1);return n.outcome==="error"?`its probe failed: ${n.failure.message.slice(0,300)}`:Hy(n.value)?n.value:"its probe answered nothing that a probe answers"}s(gi,"probe");function Hy(t){return typeof t!="object"||t===null||!("outcome"in t)?!1:t.outcome==="happened"||t.outcome==="cannot_happen"||t.outcome==="unknown"}s(Hy,"isAnswer");function se(t,e,n){return t.claimedAt.getTime()+e.clock.monotonicMs()-n.claimedAtMs}s(se,"ledgerNowMs");function ln(t,e,n,r,o){if(n.deadlineAt!==null&&se(n,r,o)>=n.deadlineAt.getTime())return $("deadline",`the run's deadline has passed before step "${t}"`,t);if(e>o.remainingMs()-r.settings.settleReserveMs)return{kind:"yielded",why:"time"};if(!(se(n,r,o)<(o.holdsUntilMs??1/0)))return{kind:"yielded",why:"grant"}}s(ln,"whyNotNow");var ct=2**30;function Jy({name:t}){return $("journal_mismatch",`step "${t}" was begun as an effect that happens once, and nobody knows whether it did; the code calls it as a plain step now`,t)}s(Jy,"notPlain");async function Uu(t,e){let{call:n,claim:r,run:o,hopSignal:i,log:a,effects:d,invocation:u}=t,l=e.settings.leaseHeld?{...t.options,timeoutMs:ct}:t.options,c={run:o,options:l,hopSignal:i,log:a,overdueAfterMs:e.settings.overdueAfterMs,onOverdue:s(()=>cn(t,e),"onOverdue"),whyNotNow:s(()=>ln(n.name,t.options.timeoutMs,r,e,u),"whyNotNow")};if(!l.once&&d.of(n).openIntent!==void 0)return{outcome:"stops",end:Jy(n)};try{await e.faults("worker.before-step",n.name);let m=l.once?await Gu({...c,call:n,claim:r,probe:l.probe,...d.of(n),tried:s((f,g)=>d.tried(n,f,g),"tried"),ledgerNowMs:s(()=>se(r,e,u),"ledgerNowMs")},e):await ju({...c,name:n.name,triesBefore:t.triesBefore,idempotencyKey:it(r.firstRunId,n),chance:e.chance,residentDelayMs:e.settings.residentDelayMs});return await e.faults("worker.after-step",n.name),m}catch(m){return l.once?{outcome:"stops",end:{kind:"unknown",error:m}}:{outcome:"error",failure:E(m),tries:1}}}s(Uu,"liveStep");function cn({call:t,claim:e,log:n},r){mn(e,`step_overdue: ${t.name}`,n,r)}s(cn,"askForAPerson");function mn(t,e,n,r){r.ledger.runs.raiseAttention(t,e).catch(o=>{n.warn("attention could not be raised",{reason:e,error:String(o).slice(0,200)})})}s(mn,"raiseAttention");function fn(t,e,n,r){return n.logFor(t).error("a codec could not do its work; the delivery goes back",{error:e.message}),{kind:"given_back",dueAt:new Date(se(t,n,r)+Xe),why:"a codec could not do its work"}}s(fn,"afterCodec");function pr(t){return D(JSON.stringify(t.map(e=>[e.ordinal,P(e),e.outcome,e.digest])))}s(pr,"journalDigest");function $t(t,e){return{workflowDigest:t.workflow.digest,journalLength:t.journalStart+e.length,journalDigest:pr(e)}}s($t,"checkpointOf");var Y=class extends Error{static{s(this,"DisagreementError")}constructor(e){super(e),this.name="DisagreementError"}},ee=class extends Error{static{s(this,"CodecError")}constructor(e){super(e),this.name="CodecError"}};async function te(t,e,n,r){if(e===null||D(t)!==e)throw new Y(`${n} disagrees with its digest`);try{return await r(t)}catch(o){throw o instanceof Y?o:new ee(`${n}: ${E(o).message.slice(0,200)}`)}}s(te,"verified");async function gr(t,e,n){let r=t.journalLength-t.journalStart;if(e.length!==r)throw new Y(`the journal has ${e.length} entries, the run says ${r}`);let o={tenantId:t.tenantId,runId:t.runId,kind:"result"};return Promise.all(e.map(async(i,a)=>{let d=t.journalStart+a+1;if(i.ordinal!==d)throw new Y(`journal entry ${d} is missing`);let{ordinal:u,epoch:l,scope:c,kind:m,name:f,nth:g,outcome:_,tries:b,completedAt:A,resultText:O}=i,L=O===null?Xy(i):await te(O,i.resultDigest,`journal entry ${u}`,_e=>Wu(m)?n.decode(_e,o):Vy(m,_e,t,n));return{ordinal:u,epoch:l,scope:c,kind:m,name:f,nth:g,outcome:_,text:L,tries:b,completedAt:A,digest:i.resultDigest}}))}s(gr,"loadJournal");function Wu(t){return t==="step"||t==="transaction"}s(Wu,"isOfFunction");function Ku(t){return Wu(t)||t==="reserve"||t==="release"}s(Ku,"isOfHop");async function Vy(t,e,{tenantId:n,runId:r},o){if(t==="child")return Qy(JSON.parse(e),n,o);let i=JSON.parse(e);if(i.report!==void 0)return Yy(i,{tenantId:n,runId:r},o);let a={...i};return i.decisions!==void 0&&(a.decisions=await Promise.all(i.decisions.map(async d=>({...d,comment:d.comment===null?null:await o.decode(d.comment,{tenantId:n,runId:r,kind:"comment"})})))),i.payload!==void 0&&(a.payload=i.payload===null?null:JSON.parse(await o.decode(i.payload,{tenantId:n,runId:r,kind:"signal"}))),JSON.stringify(a)}s(Vy,"decodeWaitResult");async function Qy({outcome:t,runId:e,text:n=null,digest:r=null},o,i){if(n===null){if(r!==null)throw new Y(`the end of child ${e} is gone`);return JSON.stringify({outcome:t,runId:e})}let a=t==="DONE"?"output":"error",d=await te(n,r,`the ${a} of child ${e}`,u=>i.decode(u,{tenantId:o,runId:e,kind:a}));return JSON.stringify({outcome:t,runId:e,body:JSON.parse(d)})}s(Qy,"decodeChild");async function Yy(t,{tenantId:e,runId:n},r){let{report:o,digest:i,...a}=t,d=await te(o??"",i??null,"the report of a job",u=>r.decode(u,{tenantId:e,runId:n,kind:"report"}));return JSON.stringify({...a,[a.outcome==="FAILED"?"error":"result"]:JSON.parse(d)})}s(Yy,"decodeReport");function Xy(t){if(t.resultDigest!==null)throw new Y(`the result of journal entry ${t.ordinal} is gone`);return null}s(Xy,"emptied");function Bu(t,e,n){let r=`checkpoint ${t.checkpointGeneration}`;if(e===null)throw new Y(`${r} is missing`);if(e.workflowDigest!==t.workflow.digest)throw new Y(`${r} is of another workflow digest`);let o=e.journalLength-t.journalStart;if(e.journalDigest!==pr(n.slice(0,o)))throw new Y(`${r} disagrees with the journal`);return o}s(Bu,"verifyCheckpoint");async function $e(t,e){try{return await e()}catch(n){throw new ee(`${t}: ${E(n).message.slice(0,200)}`)}}s($e,"encoded");async function pn(t){try{return await t()}catch(e){if(!(e instanceof ee))throw e;let n="Ask again later: nothing was written.";throw new k("codec_unavailable",e.message,{fix:n,cause:e})}}s(pn,"withCodec");var Zy={openIntent:void 0,lastNumber:0,triesUsed:0};async function Hu(t,e){let n=t.seq===1?new Map:await e_(t,e);return{of:s(r=>n.get(P(r))??Zy,"of"),tried:s((r,o,i)=>{n.set(P(r),{openIntent:void 0,lastNumber:o,triesUsed:i})},"tried"),open:s(()=>[...n.values()].flatMap(({openIntent:r})=>r??[]),"open")}}s(Hu,"loadEffects");async function e_(t,e){let[n,r]=await Promise.all([e.ledger.intents.openOfRun(t),e.ledger.intents.lastOfRun(t)]),o=new Map(n.map(i=>[P(i),i]));return new Map(r.map(i=>{let a=P(i);return[a,{openIntent:o.get(a),lastNumber:i.number,triesUsed:i.tries}]}))}s(e_,"readEffects");async function Ju(t,e){let n=t.checkpointGeneration===null?[]:await e.ledger.arms.retriesOfRun(t,t.epoch),r=new Map(n.map(o=>[P(o.call),o]));return{of:s(o=>{let i=r.get(P(o));return{triesBefore:i?.tries??0,dueAt:i?.dueAt??null}},"of")}}s(Ju,"loadRetries");async function Ot(t,e,n){let r=t.journalLength===t.journalStart?[]:await gr(t,await n.ledger.journal.read(t,t.journalStart),n.codec),o=r.findLastIndex(({kind:f})=>Ku(f))+1;if(t.checkpointGeneration!==null){let f=await n.ledger.checkpoints.read(t,t.checkpointGeneration);o=Math.max(o,Bu(t,f,r))}let{tenantId:i,runId:a}=t,d=await te(t.inputText,t.inputDigest,"the input",f=>n.codec.decode(f,{tenantId:i,runId:a,kind:"input"})),u=await Vu(e,d);if("problem"in u)return $("input_invalid",`the input does not fit the workflow's schema: ${u.problem}`);let[l,c,m]=await Promise.all([Hu(t,n),Ju(t,n),t.seq===1?[]:n.ledger.arms.openOfRun(t)]);return{input:u.value,journal:r,effects:l,retries:c,arms:m,seen:o}}s(Ot,"loadMaterial");function Nt(t){return"journal"in t}s(Nt,"isMaterial");async function hr(t,e){let n=await Vu(t,e);return"problem"in n?n.problem:void 0}s(hr,"inputProblem");async function Vu(t,e){try{let n=await t.input.safeParseAsync(JSON.parse(e));return n.success?{value:n.data}:{problem:n.error.message.slice(0,1500)}}catch(n){return{problem:E(n).message}}}s(Vu,"inputOf");var t_=100,n_=2e3;async function ue(t,e){for(let n=t_;;n=Math.min(n_,n*2))try{return await t()}catch(r){if(!(r instanceof q)||r.kind==="defect"||r.kind==="schema"||!e.mayGoOn()||(e.onPause(r),await new Promise(o=>setTimeout(o,n*(.5+e.chance()/2))),!e.mayGoOn()))throw r}}s(ue,"persist");function hi(t){let{title:e,deciders:n,quorum:r,expiresMs:o,onExpiry:i,requesterMayDecide:a,detail:d}=t;return{title:e,deciders:n,quorum:r,expiresMs:o,onExpiry:i,requesterMayDecide:a,detail:d===void 0?null:JSON.parse(d)}}s(hi,"contentOf");function Qu({service:t,definition:e,requestText:n}){let{adapter:r,version:o}=e;return ne({service:t,adapter:r,version:o,request:JSON.parse(n)})}s(Qu,"contentOfJob");async function gn(t,e,n,r){return n?.consent!==void 0?i_(t,e,n.consent,r):n?.child!==void 0?r_(t,e,n.child,r):n?.job===void 0?void 0:o_(t,e,n.job,r)}s(gn,"digestOfFrozen");function yi({workflow:t,inputText:e}){let{name:n,version:r}=t.definition;return ne({workflow:n,version:r,input:JSON.parse(e)})}s(yi,"contentOfChild");async function r_({tenantId:t},e,n,{ledger:r,codec:o}){let i=await r.runs.get({tenantId:t,runId:e});if(i===null)return;let a=await ge(o,yi(n));if(i.requestDigest===a)return a;if(i.inputText===null)return;let d=await te(i.inputText,i.inputDigest,"a child's input",m=>o.decode(m,{tenantId:t,runId:e,kind:"input"})),{name:u,version:l}=n.workflow.definition;return i.workflow.name===u&&i.workflow.version===l&&d===n.inputText?i.requestDigest:void 0}s(r_,"digestOfSameChild");async function o_(t,e,n,{ledger:r,codec:o}){let{tenantId:i,runId:a}=t,d=await r.attempts.get({tenantId:i,attemptId:e});if(d===null)return;let u=await te(d.requestText,d.storedDigest,"a job's request",f=>o.decode(f,{tenantId:i,runId:a,kind:"job"})),{adapter:l,version:c}=n.definition;return u===n.requestText&&d.service===n.service&&d.adapter===l&&d.adapterVersion===c?d.requestDigest:void 0}s(o_,"digestOfSameJob");async function i_(t,e,n,{ledger:r,codec:o}){let{tenantId:i,runId:a}=t,d=await r.consents.get({tenantId:i,consentId:e});if(d===null)return;let u=await te(d.requestText,d.storedDigest,"a consent's request",g=>o.decode(g,{tenantId:i,runId:a,kind:"consent"})),l=hi(n),c=JSON.parse(u),m=Object.keys(l),f=Object.fromEntries(m.map(g=>[g,c[g]]));return ne(f)===ne(l)?d.requestDigest:void 0}s(i_,"digestOfSameRequest");function _i({arms:t,effects:e}){return[...t.flatMap(({call:r})=>r.kind==="step"?[]:[r]),...e.open()]}s(_i,"callsOf");async function Yu(t,e,n,r){let o=new Map(n.map(d=>[d.key,d])),i=_i(e).find(d=>!o.has(P(d)));if(i!==void 0)return`${ce(i)} stands open, and the code does not ask for it`;let a=e.effects.open().find(d=>o.get(P(d))?.step?.once!==!0);if(a!==void 0)return`nobody knows whether the effect of ${ce(a)} has happened, and the code calls it as a plain step`;for(let{call:d,consentId:u,attemptId:l,childRunId:c}of e.arms){let m=u??l??c;if(m!==null&&await gn(t,m,o.get(P(d))?.wait,r)===void 0)return`${ce(d)} was frozen with another request than the code asks for`}}s(Yu,"takeoverProblem");async function Xu(t,e,n,r,o,i,a){let d=r.find(l=>P(l.call)===e.key),u=await mr(()=>d===void 0?a_(t,e,n,o,i):s_(t,e,n,d,o));return u===void 0?{outcome:"stands"}:u.kind!=="unknown"||!(u.error instanceof ee)?{outcome:"stops",end:u}:{outcome:"stops",end:fn(t,u.error,o,a)}}s(Xu,"startChild");async function s_(t,e,n,{childRunId:r,requestDigest:o},i){if(await Zu(n,i)===o||await gn(t,r??"",e.wait,i)!==void 0)return;let{name:a}=e.id;return $("journal_mismatch",`child "${a}" was started with another request than the code asks for now: the code has changed or is not deterministic`,a)}s(s_,"problemOfStarted");function Zu(t,{codec:e}){return $e("the request of a child",()=>ge(e,yi(t)))}s(Zu,"digestOf");async function a_(t,e,n,r,o){let{definition:i,digest:a}=n.workflow,{name:d}=e.id,u=await hr(i,n.inputText);if(u!==void 0)return $("invalid_call",`child "${d}": its input does not fit workflow "${i.name}": ${u}`,d);let[l,c]=[r.ids.next(),r.ids.next()],{tenantId:m}=t,f={tenantId:m,runId:c,kind:"input"},g=await $e(`the input of child "${d}"`,()=>r.codec.encode(n.inputText,f)),_=n.queue??i.queue??Ut,b={armId:l,call:e.id,runId:c,requestDigest:await Zu(n,r),workflow:{name:i.name,version:i.version,digest:a},queue:_,priority:n.priority,inputText:g,inputDigest:D(g),deadlineMs:i.deadlineMs??null,onWorkerLoss:i.onWorkerLoss,parentClose:n.parentClose},{publisherGraceSeconds:A}=r.settings;await r.faults("worker.before-child",d);let O=await ue(()=>r.ledger.children.startIfClaimed(t,b,{publisherGraceSeconds:A}),o);if(await r.faults("worker.after-child",d),!O)return{kind:"fenced"};await r.publisher.publish({tenantId:m,runId:c,enqueueSeq:1,queue:_})}s(a_,"start");async function el(t,e,n){let{tenantId:r,runId:o,parentRunId:i}=t;if(i!==null)try{await e.faults("worker.before-tell-parent",o);let{resumption:a}=await e.ledger.children.tellParent({tenantId:r,runId:o,parentRunId:i},e.settings.publisherGraceSeconds);await e.faults("worker.after-tell-parent",o),a!==null&&await e.publisher.publish(a)}catch(a){n.warn("the parent of a run could not be told of its end; the reconciler does it",{parentRunId:i,error:E(a).message.slice(0,200)})}}s(el,"tellParent");function he(t){return typeof t=="string"&&t!==""&&t.length<=200&&!t.includes("\0")&&t.isWellFormed()}s(he,"isCallName");function ye(t){return`the name of a ${t} is a text of 1 to 200 characters`}s(ye,"notAName");var d_=new Set(["deciders","quorum","expires","onExpiry","detail","requesterMayDecide","source"]),u_=new Set(["schema","timeout"]),l_=/^(?:role|user):[\x21-\x7e]{1,200}$/,yr=100;function tl(t,e,n,r){return mt("consent",t,e,d_,o=>{let{deciders:i,quorum:a=1,onExpiry:d="expire",requesterMayDecide:u=!1}=e??{},l=e?.source??null;if(!Array.isArray(i)||i.length===0||i.length>yr)return`name 1 to ${yr} deciders, such as deciders: ["role:legal"]`;let c=i.find(_=>typeof _!="string"||!l_.test(_));if(c!==void 0)return`"${String(c).slice(0,100)}" is no decider: write "role:<name>", or "user:<subject of a key>"`;if(!Number.isInteger(a)||a<1||a>yr)return`quorum is a whole number from 1 to ${yr}`;let m=new Set(i);if(a>m.size&&!i.some(Qt))return`a quorum of ${a} cannot be reached by ${m.size} deciders`;if(!Ke.includes(d))return`onExpiry is one of ${Ke.join(", ")}`;if(l!==null&&!n.includes(l))return`source "${String(l).slice(0,100)}" is not among the decision sources of the configuration`;if(l===null&&u!==!0&&new Set(i.filter(b=>!qn(b,r))).size<a&&!i.some(Qt))return`it cannot be granted: ${r} has asked for the run, and so may not decide. Name other deciders, or set requesterMayDecide: true`;let f=c_(e?.detail),g={title:o,deciders:[...m].toSorted((_,b)=>_<b?-1:1),quorum:a,expiresMs:e?.expires===void 0?null:G(e.expires),onExpiry:d,requesterMayDecide:u===!0,detail:f,source:l};return{name:o,wait:{owner:"consent",dueAt:null,tries:null,consent:g}}})}s(tl,"understandConsent");function c_(t){try{return B(t)}catch(e){throw e instanceof U?new k("configuration_invalid",`its detail cannot be kept: ${e.message}`,{fix:`Give JSON of at most ${at} bytes.`}):e}}s(c_,"detailOf");var m_=new Date("9999-12-31T23:59:59.999Z");function nl(t,e,n){if(typeof t!="string"&&!(t instanceof Date))return`sleep: ${typeof t} is no time: give a duration such as "3d", or a Date`;let r=t instanceof Date?f_(t):t;return mt("sleep",e?.name??r,e,new Set(["name"]),o=>{let i=t instanceof Date?new Date(t):new Date(n.getTime()+G(String(t)));if(Number.isNaN(i.getTime()))return"it is until no moment: the Date is invalid";if(i>m_)return"it is until a moment that the ledger cannot keep: give one before the year 10000";let a=i<n?n:i;return{name:o,wait:{owner:"timer",dueAt:a,tries:null,receive:s(()=>{},"receive")}}})}s(nl,"understandSleep");function f_(t){return Number.isNaN(t.getTime())?"invalid date":t.toISOString()}s(f_,"momentOf");function rl(t,e,n){return mt("signal",t,e,u_,r=>{if(!Be.SIGNAL_NAME.test(r))return`nobody could send it: the name of a signal is ${Be.SIGNAL_NAME_RULE}`;let{schema:o,timeout:i}=e??{};if(o!==void 0&&typeof o.safeParse!="function")return"its schema is none of zod's";let a=i===void 0?null:new Date(n.getTime()+G(i));return{name:r,wait:{owner:"signal",dueAt:a,tries:null,receive:s(d=>p_(d,o),"receive")}}})}s(rl,"understandSignal");function p_(t,e){let{outcome:n,payload:r}=t;if(n!=="RECEIVED"||e===void 0)return t;try{let o=e.safeParse(r);return o.success?{...t,payload:o.data}:{...t,outcome:"INVALID",problem:o.error.message.slice(0,1500)}}catch(o){let i=`the schema threw: ${String(o).slice(0,500)}`;return{...t,outcome:"INVALID",problem:i}}}s(p_,"received");function mt(t,e,n,r,o){if(!he(e))return ye(t);let i=`${t} "${e}"`;if(n!==void 0&&(typeof n!="object"||n===null))return`${i}: its options are an object`;let a=Object.keys(n??{}).find(d=>!r.has(d));if(a!==void 0)return`${i}: option "${a}" is not known in this version (known: ${[...r].join(", ")})`;try{let d=o(e);return typeof d=="string"?`${i}: ${d}`:d}catch(d){if(!(d instanceof k))throw d;return`${i}: ${d.message}${d.fix===void 0?"":`. ${d.fix}`}`}}s(mt,"understood");var g_=new Set(["name","parentClose","queue","priority"]);function ol(t,e,n,r,o){let i=n?.name??h_(t);return i===void 0?"ctx.child: its first argument is a workflow: pass what workflow({ \u2026 }) has made":mt("child",i,n,g_,a=>{let d=r.all().find(({definition:g})=>g===t);if(d===void 0)return"its workflow is not in the configuration: name it in workflows, and pass that very object";let{parentClose:u="cancel",queue:l,priority:c}=n??{};if(!Nn.includes(u))return`parentClose is one of ${Nn.join(", ")}`;if(l!==void 0&&!o.includes(l))return`there is no queue "${String(l).slice(0,100)}"; configured are ${o.join(", ")}`;if(c!==void 0&&!(Number.isInteger(c)&&c>=0&&c<=9))return"priority is a whole number from 0 to 9";let m=y_(e);if("problem"in m)return`its input ${m.problem}`;let f={workflow:d,inputText:m.text,parentClose:u,queue:l??null,priority:c??null};return{name:a,wait:{owner:"child",dueAt:null,tries:null,child:f,receive:__}}})}s(ol,"understandChild");function h_(t){let e=t?.name;return typeof e=="string"?e:void 0}s(h_,"nameOf");function y_(t){try{return{text:ne(JSON.parse(B(t)??"null"))}}catch(e){return e instanceof U?{problem:e.message}:{problem:`cannot be read: ${E(e).message.slice(0,300)}`}}}s(y_,"inputOf");function __(t){let{outcome:e,runId:n,body:r}=t;return e==="DONE"?{outcome:e,runId:n,result:r}:e==="FAILED"?{outcome:e,runId:n,error:r}:{outcome:e,runId:n}}s(__,"receive");import{AsyncLocalStorage as w_}from"node:async_hooks";var wi=new w_;function Oe(t,e){return wi.run(t,e)}s(Oe,"standIn");function Ze(){return wi.getStore()}s(Ze,"whereAmI");function il(t){let e=wi.getStore();return e===void 0?!1:(e.hop.fail(t),!0)}s(il,"blameHop");var k_=new Set(["deadline","heartbeat"]);function sl(t,e,n,r,o){return mt("delegate",t,r,k_,i=>{let a=Object.entries(o).find(([,f])=>f===e);if(a===void 0)return"its service is not in the configuration: name it in services, and pass that very object";let[d,u]=a,l=b_(u,n);if("problem"in l)return`its request ${l.problem}`;let c=r?.heartbeat,m={service:d,definition:u,requestText:l.canonical,deadlineMs:r?.deadline===void 0?null:G(r.deadline),heartbeatMs:c===void 0?u.times.heartbeatMs:G(c)};return m.deadlineMs===0||m.heartbeatMs===0?"its deadline and its heartbeat are not 0":{name:i,wait:{owner:"delegate",dueAt:null,tries:null,job:m,receive:s(f=>x_(f,u),"receive")}}})}s(sl,"understandJob");function b_({request:t},e){try{B(e);let n=t.safeParse(e);if(!n.success)return{problem:`does not fit the service's schema: ${n.error.message.slice(0,1500)}`};let r=B(n.data)??"null";return{canonical:ne(JSON.parse(r))}}catch(n){return n instanceof U?{problem:`cannot be sent: ${n.message}`}:{problem:`made its schema throw: ${E(n).message.slice(0,500)}`}}}s(b_,"requestOf");function x_(t,{result:e}){let{outcome:n,attemptId:r,result:o}=t;if(n!=="SUCCEEDED")return t;let i=s(a=>({outcome:"INVALID",attemptId:r,result:o,problem:a}),"invalid");try{let a=e.safeParse(o);return a.success?{outcome:n,attemptId:r,result:a.data}:i(a.error.message.slice(0,1500))}catch(a){return i(`the schema threw: ${E(a).message.slice(0,500)}`)}}s(x_,"received");var E_=10,al=1e3,dl=1e4,ul=new Set(["concurrency"]);function ll(t,e,n,r){if(!he(t))return ye("map");let o=`map "${t}"`;if(!Array.isArray(e))return`${o}: its items are an array`;if(e.length>dl)return`${o}: it has ${e.length} items, ${dl} is the most. Let children or ctx.restart carry a part each`;if(typeof n!="function")return`${o} has no function`;if(r!==void 0&&(typeof r!="object"||r===null))return`${o}: its options are an object`;let i=Object.keys(r??{}).find(d=>!ul.has(d));if(i!==void 0)return`${o}: option "${i}" is not known in this version (known: ${[...ul].join(", ")})`;let a=r?.concurrency??E_;return!Number.isInteger(a)||a<1||a>al?`${o}: concurrency is a whole number from 1 to ${al}`:{name:t,items:[...e],concurrency:a}}s(ll,"understandMap");function cl({items:t,concurrency:e},n){return new Promise((r,o)=>{let i=Array.from({length:t.length}),[a,d,u]=[0,0,!1];t.length===0&&r(i);let l=s(()=>{if(u||a>=t.length)return;let c=a;a+=1,n(t[c],c).then(m=>{i[c]=m,d+=1,d===t.length?r(i):l()},m=>{u=!0,o(m)})},"begin");for(let c=0;c<e;c+=1)l()})}s(cl,"eachItem");function ml(t,e){return Object.defineProperty(t,"constructor",{get:s(()=>{let n=I_();return n!==void 0&&e(n),Promise},"get")})}s(ml,"guardAgainstRace");function I_(){let{stackTraceLimit:t}=Error;Error.stackTraceLimit=6;let{stack:e}=new Error;return Error.stackTraceLimit=t,typeof e=="string"?/at (Promise\.(?:race|any)) \(<anonymous>\)/.exec(e)?.[1]:void 0}s(I_,"racingNow");import{setTimeout as v_}from"node:timers/promises";function Ne(){return new Promise(t=>setImmediate(t))}s(Ne,"comeToRest");function fl(){return v_(5)}s(fl,"briefly");function pl(){return process.getActiveResourcesInfo().some(t=>t.startsWith("FSReq"))}s(pl,"readsFiles");function Ue(){let{promise:t,resolve:e,reject:n}=Promise.withResolvers();return t.catch(()=>{}),{promise:t,resolve:e,reject:n}}s(Ue,"deferred");var A_=/[%/[\]{}#]/g;function gl(t,e){return`${t}[${e}]`}s(gl,"itemScope");function ki(t){return`${t}{}`}s(ki,"reserveScope");var _r=class{static{s(this,"Scopes")}#e=new Map;#t=new Set;enter(e,n,r){let o=JSON.stringify([e,n,r]);if(this.#t.has(o))return;this.#t.add(o);let i=(this.#e.get(o)??0)+1;this.#e.set(o,i);let a=`${r.replace(A_,encodeURIComponent)}${i===1?"":`#${i}`}`;return{path:e===""?a:`${e}/${a}`,leave:s(()=>{this.#t.delete(o)},"leave")}}};var S_=10*6e4,hl=new Set(["units","wait","name"]);function yl(t,e,n){if(typeof t!="string")return"reserve: its first argument is the name of a capacity";if(typeof e!="object"||e===null)return`reserve "${t}": its options are an object, such as {}`;let{name:r=t,units:o=1,wait:i}=e;if(!he(r))return ye("reserve");let a=`reserve "${r}"`;if(typeof n!="function")return`${a} has no function`;let d=Object.keys(e).find(u=>!hl.has(u));if(d!==void 0)return`${a}: option "${d}" is not known in this version (known: ${[...hl].join(", ")})`;if(!Number.isInteger(o)||o<1)return`${a}: units is a whole number from 1`;try{return{name:r,capacity:t,units:o,waitMs:i===void 0?S_:G(i)}}catch(u){if(!(u instanceof k))throw u;return`${a}: ${u.message}${u.fix===void 0?"":`. ${u.fix}`}`}}s(yl,"understandReserve");function _l({capacity:t,units:e,name:n},r,o){let i=Object.hasOwn(r,t)?r[t]:void 0;if(i===void 0)return`reserve: there is no capacity "${t.slice(0,100)}"; configured are ${Object.keys(r).join(", ")||"none"}`;let a=`reserve "${n}": it asks for ${e} units`;if(e>i)return`${a}, and "${t}" has ${i}: it could never have them`;let d=0;for(let u=o;u!==void 0;u=u.outer)u.capacity===t&&(d+=u.units);if(d+e>i)return`${a} inside a reservation of ${d}, and "${t}" has ${i}: it could never have them. Reserve all at once`}s(_l,"whyNeverHad");var C_=6e4,hn=100,wl=new Set(["tries","backoff","timeout","effect","probe"]);function kl(t,e,n,r){if(!he(t))return ye("step");if(typeof e!="function")return`step "${t}" has no function`;let o=Object.keys(n??{}).find(i=>!wl.has(i));if(o!==void 0)return`step "${t}": option "${o}" is not known in this version (known: ${[...wl].join(", ")})`;try{return D_(t,n??{},r)}catch(i){if(!(i instanceof k))throw i;return`step "${t}": ${i.message}${i.fix===void 0?"":`. ${i.fix}`}`}}s(kl,"resolveStep");function D_(t,e,n){let r=e.tries??1;if(!Number.isInteger(r)||r<1||r>hn)return`step "${t}": tries is a whole number from 1 to ${hn}`;let o=e.timeout===void 0?Math.min(C_,n/2):G(e.timeout);return o<=0||o>n?`step "${t}": a timeout of ${e.timeout} does not fit the function's limit of ${Math.floor(n/1e3)} s`:e.effect!==void 0&&e.effect!=="once"?`step "${t}": effect can only be "once"`:e.probe!==void 0&&(e.effect!=="once"||typeof e.probe!="function")?`step "${t}": a probe is a function, and belongs to a step with effect: "once"`:{tries:r,timeoutMs:o,once:e.effect==="once",probe:e.probe,backoff:Ht(e.backoff)}}s(D_,"resolved");var bl=new Set(["tries","backoff","timeout"]);function xl(t,e,n,r){if(!he(t))return ye("transaction");if(typeof e!="function")return`transaction "${t}" has no function`;let o=Object.keys(n??{}).find(i=>!bl.has(i));if(o!==void 0)return`transaction "${t}": option "${o}" is not known in this version (known: ${[...bl].join(", ")})`;try{let i=R_(n??{},r);return typeof i=="string"?`transaction "${t}": ${i}`:i}catch(i){if(!(i instanceof k))throw i;return`transaction "${t}": ${i.message}${i.fix===void 0?"":`. ${i.fix}`}`}}s(xl,"resolveTransaction");function R_(t,{transactionMs:e,functionMs:n}){let r=t.tries??1;if(!Number.isInteger(r)||r<1||r>hn)return`tries is a whole number from 1 to ${hn}`;let o=t.timeout===void 0?Math.min(e,n/2):G(t.timeout);if(o<=0||o>e)return`a timeout of ${t.timeout} is not taken: a transaction lasts ${e} ms at most, because others wait for what it has locked. Do what is slow in a step before it`;if(o>n)return`a timeout of ${t.timeout} does not fit the function's limit of ${Math.floor(n/1e3)} s`;let i=Ht(t.backoff);return r>1&&ze(i,r,1)>dt?`its backoff comes to delays above ${dt} ms, for which its worker would stay: give it a smaller max, or catch its failure and ctx.sleep before another one`:{tries:r,timeoutMs:o,once:!1,probe:void 0,backoff:i}}s(R_,"resolve");var wr=class{static{s(this,"Asking")}#e;#t=new _r;constructor(e){this.#e=e}step(e,n,r){return this.#i("step",e,()=>{let o=kl(e,n,r,this.#e.stepLimitMs);return typeof o=="string"?o:{name:e,step:o,run:n}})}transaction(e,n,r){return this.#i("transaction",e,()=>{let{stepLimitMs:o,transactionLimitMs:i}=this.#e,a=xl(e,n,r,{transactionMs:i,functionMs:o});return typeof a=="string"?a:{name:e,step:a,run:n}})}consent(e,n,r){let o=Object.keys(this.#e.deps.decisionSources);return this.#o("consent",()=>tl(e,n,o,r))}delegate(e,n,r,o){let{services:i}=this.#e.deps.delegation;return this.#o("delegate",()=>sl(e,n,r,o,i))}child(e,n,r){let{registry:o,queues:i}=this.#e.deps;return this.#o("child",()=>ol(e,n,r,o,i))}sleep(e,n){return this.#o("sleep",()=>nl(e,n,this.#e.now()))}signal(e,n){return this.#o("signal",()=>rl(e,n,this.#e.now()))}map(e,n,r,o){let i=this.#u("map","");if(i!==void 0)return i;let a=ll(e,n,r,o);if(typeof a=="string")return this.#l(a);let d=this.#t.enter(yn(),"map",a.name);if(d===void 0)return this.#c($("duplicate_call",xi("map",a.name)));let u=cl(a,(l,c)=>{let m={hop:this.#e.hop,scope:gl(d.path,c),step:void 0,held:bi()};return Oe(m,async()=>r(l,c))}).finally(d.leave);return u.catch(()=>{}),u}reserve(e,n,r){let o=this.#u("reserve","");if(o!==void 0)return o;let[i,a]=[yn(),bi()],d=yl(e,n,r);if(typeof d=="string")return this.#l(d);let u=this.#d(i,`reserve "${d.name}"`);if(u!==void 0)return u;let{name:l,...c}=d;if(El(i,l))return this.#l(Il(l));let m=this.#t.enter(i,"reserve",l),f=m&&this.#e.calls.next(this.#e.epoch,i,"reserve",l);if(m===void 0||f===void 0)return this.#c($("duplicate_call",xi("reserve",l)));let g=this.#e.calls.open(f,{step:void 0,wait:void 0,reserve:{...c,scope:ki(m.path)},start:s(()=>{let A=_l(d,this.#e.deps.capacities,a);A===void 0?this.#e.startReserve(g):this.#l(A)},"start")});this.#e.opened(g);let{units:_}=c,b=this.#n(g,m,{capacity:e,units:_,name:l,outer:a},r);return b.catch(()=>{}),b}async#n(e,n,r,o){let{outcome:i}=await e.result.promise;if(i!=="RESERVED")return n.leave(),{outcome:"UNAVAILABLE"};let a={hop:this.#e.hop,scope:ki(n.path),step:void 0,held:r};try{return{outcome:"RESERVED",value:await Oe(a,async()=>o())}}finally{await this.#r(e,a.scope),n.leave()}}#r({id:e},n){if(this.#e.hasEnded())return this.#m();let r={epoch:this.#e.epoch,scope:n,kind:"release",name:e.name,nth:1},o=this.#e.calls.open(r,{step:void 0,wait:void 0,releases:e,start:s(()=>{},"start")});return this.#e.opened(o),o.result.promise}refuseAll(e){this.#e.refuse(e)}restart(e){let n=this.#f("restart","");if(n!==void 0)return n;let r=this.#s("restart");return r!==void 0?r:(this.#e.decide({kind:"restarted",input:e}),Ue().promise)}#o(e,n){let r=Ze()?.step===void 0?this.#s(e):void 0;if(r!==void 0)return r;let o=this.#i(e,e,n);return ml(o,i=>{let a=`${i} over a durable wait: a replay has to find the same winner. Write ctx.first({ name: wait, \u2026 })`;this.#l(a)})}#i(e,n,r){let o=this.#u(e,String(n));if(o!==void 0)return o;let i=r();if(typeof i=="string")return this.#l(i);let a=this.#d(yn(),`${e} "${i.name}"`);if(a!==void 0)return a;if(El(yn(),i.name))return this.#l(Il(i.name));let d=this.#e.calls.next(this.#e.epoch,yn(),e,i.name);if(d===void 0)return this.#c($("duplicate_call",xi("call",i.name)));let u=this.#e.calls.open(d,"step"in i?{step:i.step,wait:void 0,start:s(()=>this.#e.start(u,i.run),"start")}:{step:void 0,wait:i.wait,start:s(()=>this.#a(u,i.wait),"start")});return this.#e.opened(u),u.result.promise}#a(e,{child:n}){n!==void 0&&this.#e.startChild(e,n)}#u(e,n){return this.#f(e,n)??(this.#e.hasEnded()?this.#m():void 0)}#m(){return this.#e.askedLate(),Ue().promise}#f(e,n){let r=Ze()?.step;if(r===void 0)return;let i=`${e==="step"?`ctx.step("${n.slice(0,200)}")`:`ctx.${vl[e]}`} was called inside step "${r}": call it in the workflow itself`;return this.#e.refuse($("invalid_call",i,r)),Promise.reject(new Error(i))}#s(e){let n=bi();if(n===void 0||this.#e.hasEnded())return;let o=`${`ctx.${vl[e]}`} was called inside reservation "${n.name}": a run that waits holds nothing. Let the function of ctx.reserve return first, and call it after that`;return this.#l(o)}#d(e,n){let r=this.#e.bodies.endedAround(e);if(r===void 0)return;let o=`${n} was called after the function of reservation "${r}" had returned: await it inside`;return this.#l(o)}#l(e){return this.#c($("invalid_call",e))}#c(e){return this.#e.refuse(e),Ue().promise}};function yn(){return Ze()?.scope??""}s(yn,"scopeHere");var Al=2e3;function El(t,e){return Buffer.byteLength(t)+Buffer.byteLength(e)>Al}s(El,"isTooLong");function Il(t){return`call "${t.slice(0,60)}": its name and the names of the maps and reservations around it are more than ${Al} bytes long: give them shorter ones`}s(Il,"tooLong");function bi(){return Ze()?.held}s(bi,"heldHere");function xi(t,e){return`a ${t} "${e}" is open already: give ${t}s that run at the same time names of their own, or call them in the items of a ctx.map`}s(xi,"alreadyOpen");var vl={child:"child",transaction:"transaction",consent:"consent",delegate:"delegate",sleep:"sleep",signal:"waitForSignal",restart:"restart",reserve:"reserve",map:"map"};var kr=class{static{s(this,"Calls")}#e=new Map;#t=new Map;#n=new Map;#r=new Set;asked(){return this.#r.size}closed(){return this.#r.size-this.#n.size}wasAsked(e){return this.#r.has(P(e))}next(e,n,r,o){let i=Ei({epoch:e,scope:n,name:o});if(this.#t.has(i))return;let a=P({epoch:e,scope:n,kind:r,name:o,nth:0}),d=(this.#e.get(a)??0)+1;return this.#e.set(a,d),{epoch:e,scope:n,kind:r,name:o,nth:d}}open(e,n){let r={id:e,key:P(e),result:Ue(),...n};return this.#n.set(r.key,r),this.#r.add(r.key),this.#t.set(Ei(e),r.key),r}find(e){return this.#n.get(P(e))}close(e){this.#n.delete(e.key),this.#t.delete(Ei(e.id))}openCalls(){return[...this.#n.values()]}};function Ei(t){return JSON.stringify([t.epoch,t.scope,t.name])}s(Ei,"placeOf");var $_=new Set(["select","insert","update","delete","merge","with","values","table","truncate","lock","call","do","savepoint","release","explain","show","notify"]),O_=new Set(["statement_timeout","lock_timeout","transaction_timeout","idle_in_transaction_session_timeout","datestyle","session","role"]),N_=/\binto\s+(?:(?:local|global)\s+)?temp(?:orary)?\b|\bpg_temp\b/i,q_=new Set(["begin","start","commit","end","abort","rollback","prepare"]),P_="Let through are SELECT, INSERT, UPDATE, DELETE, MERGE, WITH, VALUES, TABLE, TRUNCATE, LOCK, CALL, DO, EXPLAIN, SHOW, NOTIFY, SAVEPOINT, RELEASE, ROLLBACK TO, SET LOCAL and SET CONSTRAINTS";function Sl(t){if(typeof t!="string")return"a statement is a text, with its values beside it: tx.query(text, values)";let[e,...n]=T_(t,4);if(e===void 0)return"there is no statement in it";if(N_.test(t))return"a temporary table outlives the transaction, on a connection that others get: use a table, or WITH";if($_.has(e))return;let[r,o]=n;if(e==="set")return r==="local"&&O_.has(o??"")?`SET LOCAL ${o} is not let through: what the engine does in the transaction relies on it`:r==="local"||r==="constraints"?void 0:"SET would outlive the transaction, on a connection that others get: write SET LOCAL";if(!(e==="rollback"&&(r==="work"||r==="transaction"?o:r)==="to"))return q_.has(e)?`${e.toUpperCase()} would begin, end or leave the transaction, which ctx.transaction does itself: return from the function to commit, throw to roll back, and use SAVEPOINT and ROLLBACK TO for a part of it`:`${e.slice(0,40).toUpperCase()} is not let through inside of ctx.transaction. ${P_}; for others use a step with a connection of its own`}s(Sl,"whyNotSent");function T_(t,e){let n=[],r=0;for(;n.length<e;){if(r=L_(t,r),n.length===0&&t[r]==="("){r+=1;continue}let o=/^[a-z_\u0080-\uffff][\w$\u0080-\uffff]*/i.exec(t.slice(r,r+64))?.[0];if(o===void 0)break;n.push(o.toLowerCase()),r+=o.length}return n}s(T_,"wordsOf");function L_(t,e){let n=e;for(;;)if(/\s/.test(t[n]??""))n+=1;else if(t.startsWith("--",n)){let r=/[\n\r]/.exec(t.slice(n));if(r===null)return t.length;n+=r.index+1}else if(t.startsWith("/*",n))n=M_(t,n);else return n}s(L_,"afterSpace");function M_(t,e){let n=0,r=e;do{let o=t.startsWith("/*",r)?1:t.startsWith("*/",r)?-1:0;n+=o,r+=o===0?1:2}while(n>0&&r<t.length);return r}s(M_,"afterComment");var br=1e3,j_=250,xr=class{static{s(this,"HandedOut")}#e;#t;#n;#r=Promise.withResolvers();#o;#i;#a;#u=Promise.resolve();#m;constructor(e){this.#e=e,this.#t=e.nowMs(),this.#m=e.limitMs,this.#r.promise.catch(()=>{}),this.#n=setTimeout(()=>this.stop(this.#c()),e.limitMs)}context({idempotencyKey:e,signal:n,log:r}){return{idempotencyKey:e,signal:n,log:r,query:s((o,i)=>this.#f(o,i),"query")}}get stoppedBy(){return this.#i===void 0?void 0:this.#o}get failure(){return this.#a}stop(e){this.#i===void 0&&(this.#o=e,this.#r.reject(e),this.#i=this.#e.begun.rollback(br))}async close(){let{name:e}=this.#e;this.#o??=new Error(`transaction "${e}" is over, because its function has ended: await what it sends inside of it`),await Promise.race([this.#u,this.#r.promise.catch(()=>{})]),this.#i!==void 0&&await this.#i}settle(){return clearTimeout(this.#n),this.#i===void 0?Math.max(1,this.#l()):0}async rollBack(){clearTimeout(this.#n),await(this.#i??this.#e.begun.rollback(br))}#f(e,n=[]){if(this.#o!==void 0)return Promise.reject(this.#o);let r=Sl(e);if(r!==void 0)return Promise.reject(new ke(`transaction "${this.#e.name}": ${r}`));let o=this.#u.then(()=>this.#s(e,n));return this.#u=o.catch(()=>{}),Promise.race([o,this.#r.promise])}async#s(e,n){let{ledger:r,begun:o}=this.#e;try{if(this.#i!==void 0)throw this.#o;await this.#d();let{rows:i,rowCount:a}=await r.transactions.ask(o,e,n);return this.#a=void 0,{rows:i,rowCount:a}}catch(i){let a=i instanceof q?i.cause??i:i;throw this.#a??={error:a},a}}async#d(){let e=this.#l();this.#m-e<=j_||(await this.#e.ledger.transactions.limit(this.#e.begun,e),this.#m=e)}#l(){return this.#t+this.#e.limitMs-this.#e.nowMs()}#c(){let{name:e,limitMs:n}=this.#e;return new DOMException(`transaction "${e}" did not end within ${n} ms, and was rolled back`,"TimeoutError")}};function Er(t){let e=Ee(t);return e==="40001"||e==="40P01"}s(Er,"isInTheWay");function Ir(t){let e=Ee(t);return e!==void 0?/^(?:57P|08)/.test(e)||e==="25P03":!(t instanceof TypeError||t instanceof RangeError)}s(Ir,"isConnectionLost");var qt=s(t=>({kind:"stops",end:t}),"stops");async function Cl(t,e,n){let{call:r,claim:o,tx:i,begun:a,value:d,tries:u,tookMs:l}=t,c=await e.prepare(r,{outcome:"ok",value:d,tries:u},l),m=i.settle();try{if(m===0)return{kind:"failed",failure:E(i.stoppedBy??new Error("it was rolled back"))};if("end"in c)return qt(c.end);let{entry:f,text:g}=c,_=await n.ledger.transactions.commitIfClaimed(a,o,f,m);return _.kind==="unknown"?await G_(t,f,e,n):_.kind!=="committed"?z_(r,_,i):(await e.keep(f,_.ordinal),{kind:"kept",text:g,tries:u,completedAt:_.completedAt})}catch(f){return qt({kind:"unknown",error:f})}finally{await i.rollBack()}}s(Cl,"commitTransaction");function z_(t,e,n){if(e.kind==="fenced")return qt({kind:"fenced"});if(e.kind==="left"){let a=`transaction "${t.name}" was ended by one of its own statements: what it did before may be committed, without an entry in the journal. Let ctx.transaction begin and end it`;return qt($("invalid_call",a,t.name))}let{at:r,error:o}=e;if(o.sqlState==="25P02"||/answered ROLLBACK/.test(o.message)){let a=n.failure?.error,d={...E(a??o),message:`a statement failed, and the function returned all the same: nothing can be committed after it, so all was rolled back. Roll back to a SAVEPOINT to go on after a failure (it was: ${E(a).message.slice(0,500)})`};return{kind:Er(a)||a!==void 0&&Ir(a)?"again":"failed",failure:d}}let i=E(o.cause??o);return o.kind!=="defect"&&o.kind!=="schema"?{kind:"again",failure:i}:r==="commit"||o.sqlState==="42501"?{kind:"failed",failure:i}:qt({kind:"unknown",error:o})}s(z_,"withoutEntry");async function G_(t,e,n,r){let{call:o,claim:i}=t,a=await n.insist(()=>r.ledger.transactions.readBack(i,o));if(a===null)return{kind:"again",failure:{name:"Error",message:"the connection was lost at COMMIT, and nothing was committed"}};if(a.token!==i.token)return qt({kind:"fenced"});let d=await F_(a,i,r);return await n.keep(e,a.ordinal),{kind:"kept",text:d,tries:a.tries,completedAt:a.completedAt}}s(G_,"readBack");async function F_({resultText:t,resultDigest:e,ordinal:n},{tenantId:r,runId:o},{codec:i}){if(t!==null)return te(t,e,`journal entry ${n}`,a=>i.decode(a,{tenantId:r,runId:o,kind:"result"}))}s(F_,"textOf");var U_=5,W_=20;async function Dl(t,e){let{options:n,hopSignal:r,log:o,call:i}=t;try{for(let a=1;;a+=1){let d=await K_(t,a,e);if(d.outcome==="abandoned")return{outcome:"abandoned",tries:a};if(d.outcome!=="failed")return d;let{failure:u}=d;if(d.final||a>=n.tries)return{outcome:"error",failure:u,tries:a};if(o.warn("a try of a transaction failed",{step:i.name,try:a,error:u.name}),await Rt(ze(n.backoff,a+1,e.chance()),r),r.aborted)return{outcome:"abandoned",tries:a}}}catch(a){return{outcome:"stops",end:{kind:"unknown",error:a}}}}s(Dl,"runTransaction");async function K_(t,e,n){let{hopSignal:r,log:o,call:i}=t;for(let a=1;;a+=1){let d=await B_(t,e,n);if(d.outcome!=="again")return d;if(r.aborted)return{outcome:"abandoned"};if(a>=U_)return{outcome:"failed",failure:d.failure,final:!1};if(o.info("a transaction was rolled back and is tried again",{step:i.name,error:d.failure.name}),await Rt(W_*2**a*(.5+n.chance()),r),r.aborted)return{outcome:"abandoned"}}}s(K_,"oneTry");async function B_(t,e,n){let{call:r,claim:o,options:i,hopSignal:a}=t,d=await H_(t,n);if("outcome"in d)return d;let u=n.settings.leaseHeld?ct:i.timeoutMs,{ledger:l,clock:c,faults:m}=n,f=new xr({name:r.name,ledger:l,begun:d,limitMs:u,nowMs:s(()=>c.monotonicMs(),"nowMs")}),g=s(()=>f.stop(new Error(`transaction "${r.name}": its run does not go on here`)),"stop");a.addEventListener("abort",g,{once:!0}),a.aborted&&g();try{let _=s(O=>t.run(f.context(O)),"run"),b=await Dt({name:r.name,idempotencyKey:it(o.firstRunId,r),options:{timeoutMs:u},run:_,hopSignal:a,log:t.log,overdueAfterMs:n.settings.overdueAfterMs,onOverdue:s(()=>cn(t,n),"onOverdue")},e);if(await f.close(),await m("worker.after-transaction",r.name),f.stoppedBy!==void 0)return a.aborted?{outcome:"abandoned"}:J_(f.stoppedBy);if(b.outcome==="error")return V_(b.thrown,b.failure,f);let A=await t.commit({call:r,claim:o,begun:d,tx:f,value:b.value,tries:e});return A.kind==="failed"&&a.aborted?{outcome:"abandoned"}:Q_(A)}finally{a.removeEventListener("abort",g),await f.rollBack()}}s(B_,"oneCall");async function H_(t,e){let{call:n,claim:r,options:o,invocation:i,hopSignal:a,log:d}=t,{settings:u,ledger:l}=e,c=s(()=>ln(n.name,o.timeoutMs,r,e,i),"notNow"),m=s(g=>({outcome:"stops",end:g}),"stops"),f=s(()=>i.remainingMs()-u.settleReserveMs-o.timeoutMs,"turnMs");await e.faults("worker.before-transaction",n.name);try{let g=await ue(async()=>a.aborted||c()!==void 0?null:l.transactions.begin(u.leaseHeld?ct:o.timeoutMs,Math.max(0,Math.min(ct,f()))),{chance:e.chance,mayGoOn:s(()=>!a.aborted&&c()===void 0,"mayGoOn"),onPause:s(_=>d.warn("the ledger is out of reach; a transaction waits",{kind:_.kind}),"onPause")});if(g!==null&&!a.aborted&&c()===void 0)return g;await g?.rollback(br)}catch(g){if(!(g instanceof q)||c()===void 0)throw g}return a.aborted?{outcome:"abandoned"}:m(c()??{kind:"yielded",why:"time"})}s(H_,"begin");function J_(t){return{outcome:"failed",failure:E(t),final:!1}}s(J_,"late");function V_(t,e,{failure:n}){return pi(t)?{outcome:"failed",failure:e,final:!0}:n!==void 0&&(Er(n.error)||Ir(n.error))?{outcome:"again",failure:e}:{outcome:"failed",failure:e,final:!1}}s(V_,"failureOf");function Q_(t){switch(t.kind){case"kept":return{outcome:"kept"};case"stops":return{outcome:"stops",end:t.end};case"again":return{outcome:"again",failure:t.failure};case"failed":return{outcome:"failed",failure:t.failure,final:!1}}}s(Q_,"ofSealed");var vr=class{static{s(this,"InFlight")}#e;#t;#n=[];#r=0;constructor(e,n){this.#e=e,this.#t=n}start(e,n){let{claim:r,deps:o,invocation:i,nextTries:a}=this.#t,d=e.step;if(d===void 0)return;let u=a.before(e);if(u===void 0)return;let l=ln(e.id.name,d.timeoutMs,r,o,i);if(l!==void 0)return l;e.wait=void 0;let c=o.clock.monotonicMs(),m={hop:this.#e,scope:e.id.scope,step:e.id.name,held:void 0};this.track(e,Oe(m,()=>e.id.kind==="transaction"?this.#i(e,d,n,c):this.#o(e,d,n,u)))}track(e,n){let{deps:r,ended:o}=this.#t;this.#r+=1;let i=r.clock.monotonicMs();n.then(a=>{this.#r-=1,this.#n.push({call:e,end:a,tookMs:r.clock.monotonicMs()-i}),o()})}#o(e,n,r,o){let{claim:i,deps:a,invocation:d,effects:u,hopSignal:l}=this.#t,c=a.logFor(i),m={call:e.id,claim:i,options:n,hopSignal:l,log:c,effects:u,triesBefore:o,invocation:d};return Uu({...m,run:r},a)}#i(e,n,r,o){let{claim:i,deps:a,invocation:d,hopSignal:u,ended:l}=this.#t;return Dl({call:e.id,claim:i,run:r,options:n,hopSignal:u,log:a.logFor(i),invocation:d,commit:s(c=>new Promise(m=>{let f=a.clock.monotonicMs()-o,g=s(async _=>{let b=_===void 0?{kind:"stops",end:{kind:"fenced"}}:await Cl({...c,tookMs:f},_,a);return m(b),b},"commit");this.#n.push({call:e,end:{outcome:"commits",commit:g},tookMs:f}),l()}),"commit")},a)}takeFinished(){return this.#n.shift()}hasFinished(){return this.#n.length>0}isEmpty(){return this.#r===0&&!this.hasFinished()}};var Ar=class{static{s(this,"JournalWriter")}#e;#t;#n;#r;#o;constructor(e,n,r,o){this.#r=o,this.#e=e,this.#t=r,this.#o=e.journalBytes,this.#n=[...n]}entries(){return this.#n}adopt(e,n,r,o){this.#o+=o===null?0:Buffer.byteLength(o),this.#n.push({...e,ordinal:n,outcome:"ok",digest:r})}async reject(e,n){try{let{tenantId:r,runId:o}=this.#e,i=B(n.outcome==="ok"?n.value:n.failure),a=i===void 0?null:await this.#t.codec.encode(i,{tenantId:r,runId:o,kind:"result"});await this.#t.ledger.evidence.reject(this.#e,{call:P(e),outcome:n.outcome,bodyText:a,bodyDigest:a===null?null:D(a)}),await this.#i(e,n);return}catch(r){return r}}async#i(e,n){if(n.outcome!=="ok"||n.closesIntent!==!0)return;let{epoch:r,scope:o,kind:i,name:a,nth:d}=e,u=`[${[r,o,i,a,d].map(m=>JSON.stringify(m)).join(", ")}]`,{token:l}=this.#e;await this.#t.ledger.items.acknowledge(this.#e,{kind:"effect",key:u,by:"worker",words:"it has happened, says the worker that made the call",token:l})}async write(e,n,r){let o=await this.prepare(e,n,r);if("end"in o)return{written:!1,end:o.end};try{let i=await this.insist(()=>this.#t.ledger.journal.appendIfClaimed(this.#e,o.entry));return i===null?{written:!1,end:{kind:"fenced"}}:(await this.keep(o.entry,i.ordinal),{written:!0,text:o.text,completedAt:i.completedAt})}catch(i){return{written:!1,end:{kind:"unknown",error:i}}}}async prepare(e,n,r){try{return await this.#a(e,n,r)}catch(o){if(!(o instanceof U))return{end:{kind:"unknown",error:o}};let i=`the result of ${e.kind} "${e.name}": ${o.message}`;return{end:$(o.reason,i,e.name)}}}async#a(e,n,r){let{tenantId:o,runId:i}=this.#e,a=B(n.outcome==="ok"?n.value:n.failure),d=a===void 0?null:await this.#t.codec.encode(a,{tenantId:o,runId:i,kind:"result"}),u=d===null?0:Buffer.byteLength(d);if(this.#o+u>je)throw new U("too_large",`it would bring the run's journal above ${je} bytes`);return{entry:{...e,outcome:n.outcome,resultText:d,resultDigest:d===null?null:D(d),resultBytes:u,tries:n.tries,tookMs:r,closesIntent:n.outcome==="ok"&&n.closesIntent===!0},text:a}}insist(e){return ue(e,this.#r)}async keep(e,n){let{epoch:r,scope:o,kind:i,name:a,nth:d,outcome:u,resultDigest:l}=e;this.#o+=e.resultBytes,this.#n.push({epoch:r,scope:o,kind:i,name:a,nth:d,ordinal:n,outcome:u,digest:l}),await this.#t.faults("worker.after-journal",a)}};async function Rl({call:t,end:e,tookMs:n},r){let{word:o,writer:i,nextTries:a,log:d}=r;if(e.outcome==="stops")return o.say(e.end);if(e.outcome==="abandoned"||e.outcome==="kept"||e.outcome==="stands")return;if(e.outcome==="commits")return Y_(t,e,r);if(e.outcome==="asks"||e.outcome==="releases")return r.turn(t,e);if(e.outcome==="later")return a.again(t,new Date(r.ledgerNowMs()+e.delayMs),e.tries);if(!o.mayWrite)return X_(t,e,r);let u=await i.write(t.id,e,n);if(!u.written)return u.end.kind==="fenced"&&await i.reject(t.id,e),o.say(u.end);e.outcome==="error"&&o.end?.kind==="returned"&&d.warn("a step failed that the workflow did not wait for",{step:t.id.name});let{outcome:l,tries:c}=e;r.resolve(t,{outcome:l,text:u.text??null,tries:c,completedAt:u.completedAt}),await Ne()}s(Rl,"keep");async function Y_(t,{commit:e},n){let r=await e(n.word.mayWrite?n.writer:void 0);if(r.kind==="stops")return n.word.say(r.end);if(r.kind!=="kept")return;let{text:o,tries:i,completedAt:a}=r;n.resolve(t,{outcome:"ok",text:o??null,tries:i,completedAt:a}),await Ne()}s(Y_,"commit");async function X_(t,e,{writer:n,log:r}){let o=await n.reject(t.id,e),i=o===void 0?void 0:E(o).message.slice(0,200),a=t.id.name;r.warn("a step ended after its claim was gone; its result is rejected evidence",{step:a,error:i})}s(X_,"reject");var Sr=class{static{s(this,"LastWord")}#e=new AbortController;#t;#n;#r=!0;#o=!1;constructor(e){this.#t=e}get signal(){return this.#e.signal}get end(){return this.#n}get mayWrite(){return this.#r}get refused(){return this.#o}say(e){(this.#n===void 0||Mu(e,this.#n))&&(this.#n=e),(e.kind==="fenced"||e.kind==="unknown")&&(this.#r=!1,this.#t.fenced()),e.kind!=="returned"&&!Ye(e)&&this.abort("the run does not go on here"),this.#t.said()}refuse(e){this.#o=!0,this.say(e)}insist(e){this.#n=e}abort(e){this.#e.abort(new DOMException(e,"AbortError"))}};var Cr=class{static{s(this,"Bodies")}#e=new Map;#t=new Map;resolved(e,n,r){let{reserve:o,releases:i}=e;i!==void 0&&(this.#e.delete(e.id.scope),this.#t.set(e.id.scope,e.id.name));let a=n??{};if(o===void 0||a.outcome!=="RESERVED")return;let d=r?"held":"to retake";this.#e.set(o.scope,{call:e,reserve:o,had:a,state:d,heldBack:[]})}open(){return[...this.#e.values()]}of(e){return this.#e.get(e)}around(e){return this.open().filter(({reserve:n})=>_n(e,n.scope)).toSorted((n,r)=>n.reserve.scope.length-r.reserve.scope.length)}endedAround(e){let n=this.around(e).find(({state:r})=>r==="ended");return n!==void 0?n.call.id.name:[...this.#t].find(([r])=>_n(e,r))?.[1]}mismatch(){for(let{call:e,reserve:n,had:r}of this.#e.values()){if(r.capacity===n.capacity&&r.units===n.units)continue;let o=e.id.name;return $("journal_mismatch",`reserve "${o}" had ${String(r.units)} of "${String(r.capacity)}", and the code asks for ${n.units} of "${n.capacity}" now: its function is not over`,o)}}};function _n(t,e){return t===e||t.startsWith(`${e}/`)}s(_n,"isWithin");var Z_=2**31-1,$l=Ol({outcome:"UNAVAILABLE"}),Dr=class{static{s(this,"Reservations")}#e;#t=new Map;#n=new AbortController;#r=!1;constructor(e){this.#e=e}hasWaited(){return this.#r}start(e){this.#e.word.end===void 0&&this.#a(e,!1)}goLive(){if(this.#e.word.end===void 0)for(let e of this.#e.bodies.open())e.state==="to retake"&&this.#i(e)}begin(e){e.releases===void 0&&!this.#o(e)&&e.start()}#o(e){let{bodies:n,effects:r,word:o}=this.#e,i=n.around(e.id.scope).find(({state:a})=>a!=="held");return i===void 0||o.end?.kind==="restarted"&&r.of(e.id).openIntent!==void 0?!1:(i.heldBack.push(e),i.state==="to retake"&&this.#i(i),!0)}startReleases(){let{bodies:e,inFlight:n,openCalls:r,word:o}=this.#e;if(o.end!==void 0||e.open().length===0)return;let i=r();for(let a of i){let d=a.releases===void 0?void 0:e.of(a.id.scope);d===void 0||d.state==="ended"||d.state==="retaking"||i.some(u=>u!==a&&_n(u.id.scope,a.id.scope))||(d.state="ended",n.track(a,Promise.resolve({outcome:"releases"})))}}stop(){this.#n.abort();let{bodies:e,effects:n,word:r}=this.#e;if(r.end?.kind==="restarted")for(let{heldBack:o}of e.open()){let i=o.filter(({id:a})=>n.of(a).openIntent!==void 0);for(let a of i)o.splice(o.indexOf(a),1),a.start()}}async turn(e,{outcome:n}){try{await(n==="releases"?this.#l(e):this.#u(e))}catch(r){this.#e.word.say({kind:"unknown",error:r})}}yieldsInTime(e){let{bodies:n,deps:r,inFlight:o,invocation:i,word:a}=this.#e;if(a.end!==void 0||n.open().length===0||!o.isEmpty())return;let{residentReserveMs:d,settleReserveMs:u}=r.settings,l=e.map(({wait:f})=>f?.dueAt?.getTime()??0);if(l.length>0&&d===0){let f=new Date(Math.min(...l));return setTimeout(()=>a.say({kind:"given_back",dueAt:f,why:"its next try is due later"}))}let c=Math.max(0,i.remainingMs()-u),m=l.length>0?"units":"time";return setTimeout(()=>a.say({kind:"yielded",why:m}),Math.min(c,Z_))}#i(e){if(this.#e.bodies.around(e.call.id.scope).some(({state:o})=>o!=="held"))return;let n=this.#e.openCalls().filter(({id:o})=>_n(o.scope,e.reserve.scope)),r=s(({id:o,releases:i})=>i!==void 0&&o.scope===e.reserve.scope,"isItsEnd");n.length>0&&n.every(r)||(e.state="retaking",this.#a(e.call,!0))}#a(e,n){let{deps:r,inFlight:o}=this.#e,i=r.clock.monotonicMs();this.#t.set(e.key,{reservationId:r.ids.next(),sinceMs:i,retake:n,waits:!1}),o.track(e,Promise.resolve({outcome:"asks"}))}async#u(e){let{deps:n,persistence:r,word:o}=this.#e,{reserve:i,id:a}=e,d=this.#t.get(e.key);if(i===void 0||d===void 0)return;if(o.end!==void 0)return this.#d(d);await n.faults("worker.before-reserve",a.name);let{capacity:u,units:l}=i,c=Ol({outcome:"RESERVED",capacity:u,units:l}),{reservationId:m,retake:f}=d,g={reservationId:m,call:a,capacity:u,units:l,retake:f,reserved:c,unavailable:$l},_=await ue(()=>this.#m({...g,waitSeconds:i.waitMs/1e3}),r);if(await n.faults("worker.after-reserve",a.name),_===null)return o.say({kind:"fenced"});if(_.kind==="waits")return this.#s(e,i,d);if(this.#t.delete(e.key),_.kind==="unknown_capacity")throw new TypeError(`the ledger has no capacity "${u}"`);let b=_.kind==="held"?c:$l;if(_.entry===null)return this.#f(e);this.#e.writer.adopt(a,_.entry.ordinal,b.digest,b.text),await this.#e.resolve(e,b.text,_.entry.completedAt)}async#m(e){let{ledger:n,capacities:r}=this.#e.deps,o=await n.reservations.takeIfClaimed(this.#e.claim,e);return o?.kind!=="unknown_capacity"?o:(await n.capacities.record(r),n.reservations.takeIfClaimed(this.#e.claim,e))}#f(e){let n=this.#e.bodies.of(e.reserve?.scope??"");if(n!==void 0){n.state="held",this.goLive();for(let r of n.heldBack.splice(0))this.begin(r)}}async#s(e,{capacity:n,waitMs:r},o){let{claim:i,deps:a,invocation:d,inFlight:u,word:l}=this.#e,{reservePollMs:c,residentReserveMs:m,settleReserveMs:f}=a.settings;o.waits=!0,this.#r=!0;let g=a.clock.monotonicMs()-o.sinceMs,_=s(A=>{let O=new Date(se(i,a,d)+A);return l.say({kind:"given_back",dueAt:O,why:`it waits for units of ${n}`}),this.#d(o)},"givenBack");if(o.retake&&g>=r)return mn(i,`reservation_waits: ${n}`,a.logFor(i),a),_(Xe);if(g>=m)return _(c);let b=c*(.75+a.chance()/2);if(d.remainingMs()-b<=f)return l.say({kind:"yielded",why:"units"}),this.#d(o);u.track(e,ew(b,this.#n.signal))}async#d(e){let{claim:n,deps:r,persistence:o,word:i}=this.#e;if(!e.waits||!i.mayWrite)return;for(let d of this.#t.values())d.waits=!1;await ue(()=>r.ledger.reservations.withdrawIfClaimed(n),o)||i.say({kind:"fenced"})}async#l(e){let{claim:n,deps:r,persistence:o,writer:i,resolve:a,word:d}=this.#e;if(e.releases===void 0||d.end!==void 0)return;let u=e.releases;await r.faults("worker.before-release",e.id.name);let l=await ue(()=>r.ledger.reservations.releaseIfClaimed(n,u,e.id),o);if(await r.faults("worker.after-release",e.id.name),l===null)return d.say({kind:"fenced"});i.adopt(e.id,l.ordinal,null,null),await a(e,null,l.completedAt)}};function Ol(t){let e=B(t)??"";return{text:e,digest:D(e)}}s(Ol,"stored");function ew(t,e){return new Promise(n=>{let r=s(()=>{clearTimeout(o),e.removeEventListener("abort",r),n({outcome:"asks"})},"go"),o=setTimeout(r,t);e.addEventListener("abort",r,{once:!0}),e.aborted&&r()})}s(ew,"paused");var Rr=class{static{s(this,"NextTries")}#e;#t;#n;#r=new Map;#o=new Set;#i=!1;constructor(e,n,r){this.#e=e,this.#t=n,this.#n=r}before(e){let n=this.#r.get(e.key);if(n!==void 0)return n;let{triesBefore:r,dueAt:o}=this.#e.of(e.id);if(o===null||o.getTime()<=this.#t())return r;this.#a(e,o,r)}again(e,n,r){this.#i=!0,this.#a(e,n,r)}hasTried(){return this.#i}#a(e,n,r){e.wait={owner:"timer",dueAt:n,tries:r},this.#r.set(e.key,r);let o=setTimeout(()=>{this.#o.delete(o),e.start(),this.#n()},Math.min(2147483647,Math.max(0,n.getTime()-this.#t())));this.#o.add(o),this.#n()}stop(){for(let e of this.#o)clearTimeout(e)}};async function ql(t,e){await Ne();for(let n of t){if(Nl(e))return;let r=await tw(n,e);if(r===void 0){let o=e.openCalls().map(i=>ce(i.id));return Nl(e)?void 0:(e.missed(n,o),$("journal_mismatch",`journal entry ${n.ordinal} is ${ce(n)}, but the code ${o.length===0?"does not ask for it":`asks for ${o.join(", ").slice(0,1e3)}`}: the workflow's code has changed or is not deterministic`))}e.resolve(r,n),await Ne()}}s(ql,"replay");function Nl(t){let e=t.end();return t.refused()||e!==void 0&&e.kind!=="returned"&&e.kind!=="failed"}s(Nl,"stops");async function tw(t,e){let n=e.nowMs();for(;;){let r=e.find(t);if(r!==void 0)return r;if(e.end()!==void 0||e.nowMs()-n>e.patienceMs)return;await Ne()}}s(tw,"askedFor");async function Pl(t){if(!t.still())return!1;let e=t.nowMs()+t.patienceMs,[n,r]=[t.asked(),t.nowMs()];for(;;){if(await fl(),!t.still())return!1;if(n!==t.asked()&&([n,r]=[t.asked(),t.nowMs()]),!(t.nowMs()<r+t.restMs)&&(t.nowMs()>=e||t.hasAll()&&!pl()))return!0}}s(Pl,"standsStill");var Tl=0,$r=class{static{s(this,"Streaming")}#e;#t;#n;#r=!1;#o=!1;constructor(e,n,r){this.#e={tenantId:e.tenantId,runId:e.runId,enqueueSeq:e.seq},this.#t=n,this.#n=r}say(e,n,r,o){if(this.#r)return;if(!he(e))return o($("invalid_call",ye("channel of ctx.stream")));if(typeof n!="string")return o($("invalid_call",`ctx.stream("${e}", \u2026) takes a text: write JSON.stringify(value)`));if(!r())return;if(n.length>Dn||Buffer.byteLength(n)>Dn)return this.#a("a chunk of ctx.stream is too large, and was dropped",{channel:e,units:n.length});Tl+=1;let i={...this.#e,number:Tl,channel:e,chunk:n};this.#i(()=>this.#t.write(i))}end(){this.#r||(this.#r=!0,this.#i(()=>this.#t.end(this.#e)))}#i(e){try{e()}catch(n){this.#a("the live stream does not take what a run says",{error:E(n).name})}}#a(e,n){this.#o||(this.#o=!0,this.#n.warn(e,n))}};function Ll(t,e,n){e.warn("the code waits for something that is no step and no wait, perhaps for ever"),mn(t,"code_overdue: it waits for what is no step and no wait",e,n)}s(Ll,"tellOfStandstill");function Ml(t,e){for(let{id:n}of t)e.warn("a step has further tries that the workflow did not wait for",{step:n.name})}s(Ml,"tellOfDropped");function zl(t){let{runId:e,agent:n,requestedBy:r,requestedRoles:o,deadlineAt:i,journalBytes:a}=t.claim,{grants:d,resources:u}=t.held;a>je&&t.asking.refuseAll($("too_large",iw));let l=new Ii(e,t.claim.epoch);return{runId:e,agent:n,requestedBy:r,authority:Object.freeze({subject:r,roles:Object.freeze([...o])}),grant:s(c=>nw(c,d),"grant"),resources:Object.freeze(u),deadline:i===null?void 0:new Date(i),abortSignal:t.abortSignal,log:ow(t),step:s((c,m,f)=>t.asking.step(c,m,f),"step"),transaction:s((c,m,f)=>t.asking.transaction(c,m,f),"transaction"),consent:s((c,m)=>t.asking.consent(c,m,r),"consent"),delegate:s((c,m,f,g)=>t.asking.delegate(c,m,f,g),"delegate"),child:s((c,m,f)=>t.asking.child(c,m,f),"child"),sleep:s((c,m)=>t.asking.sleep(c,m),"sleep"),waitForSignal:s((c,m)=>t.asking.signal(c,m),"waitForSignal"),map:s((c,m,f,g)=>t.asking.map(c,m,f,g),"map"),reserve:s((c,m,f)=>t.asking.reserve(c,m,f),"reserve"),first:rw,restart:s(c=>t.asking.restart(c),"restart"),now:s(()=>new Date(t.now()),"now"),stream:s((c,m)=>t.stream(c,m),"stream"),random:s(()=>jl("random",()=>l.here().random()),"random"),uuid:s(()=>jl("uuid",()=>l.here().uuid()),"uuid")}}s(zl,"workflowContext");var Ii=class{static{s(this,"RandomStreams")}#e;#t;#n=new Map;constructor(e,n){this.#e=e,this.#t=n}here(){let e=Ze()?.scope??"",n=this.#n.get(e);if(n!==void 0)return n;let r=new Mt(this.#e,this.#t,e);return this.#n.set(e,r),r}};function nw(t,e){let n=Object.hasOwn(e,t)?e[t]:void 0;if(n!==void 0)return n;let r=Object.keys(e).join(", ")||"nothing";throw new ke(`ctx.grant("${String(t)}"): the workflow lists ${r}; add the name to its grants`)}s(nw,"grantOf");function rw(t){let e=Object.entries(t);return e.length===0?Promise.reject(new ke("ctx.first({}) would wait for ever: give it named waits")):new Promise((n,r)=>{for(let[o,i]of e)i.then(a=>n({winner:o,value:a}),r)})}s(rw,"first");function jl(t,e){let n=Ze()?.step;if(n===void 0)return e();throw new ke(`ctx.${t}() was called inside step "${n}": draw outside, and use the value inside`)}s(jl,"outsideOfSteps");function ow(t){let e=s(n=>(r,o)=>{t.isNew()&&t.log[n](r,o)},"only");return{debug:e("debug"),info:e("info"),warn:e("warn"),error:e("error")}}s(ow,"whileLive");var iw=`what the run waited for has brought its journal above ${je} bytes: ctx.restart goes on with an empty one`;var et=class{static{s(this,"Hop")}#e;#t;#n;#r;#o;#i;#a;#u;#m;#f;#s=new Sr({said:s(()=>{this.#p.stop(),this.#_.resolve()},"said"),fenced:s(()=>this.#f.end(),"fenced")});#d=new kr;#l;#c;#g=new Cr;#p;#y;#h;#k;#b;#w=!1;#x=!1;#S;#C=!1;#_=Ue();constructor(e,n,r,o,i,a){this.#e=e,this.#t=n,this.#i=r.journal,this.#y=r.effects,this.#h=r.arms,this.#k=r.seen,this.#n=o,this.#r=i,this.#o=a,this.#a=o.logFor(e);let d=s(()=>se(e,o,i),"nowMs");this.#l=new Rr(r.retries,d,()=>this.#_.resolve());let u={claim:e,deps:o,invocation:i};this.#c=new vr(this,{...u,effects:r.effects,nextTries:this.#l,hopSignal:this.#s.signal,ended:s(()=>this.#_.resolve(),"ended")}),this.#f=new $r(e,o.live,this.#a),this.#b=e.startsAt??e.admittedAt,this.#m={chance:o.chance,mayGoOn:s(()=>this.mayWrite()&&i.remainingMs()>o.settings.settleReserveMs/2,"mayGoOn"),onPause:s(l=>this.#a.warn("the ledger is out of reach; a result waits",{kind:l.kind}),"onPause")},this.#u=new Ar(e,r.journal,o,this.#m),this.#p=new Dr({...u,bodies:this.#g,effects:this.#y,inFlight:this.#c,writer:this.#u,persistence:this.#m,word:this.#s,openCalls:s(()=>this.#d.openCalls(),"openCalls"),resolve:s((l,c,m)=>(this.#A(l,{outcome:"ok",text:c,tries:1,completedAt:m}),Ne()),"resolve")})}async run(e,n){this.#I(e),await this.#v();let r=this.#s,o=this.#x?void 0:this.#g.mismatch();if(o!==void 0&&(r.refuse(o),r.insist(o)),n!==void 0&&!this.#x&&!r.refused&&r.mayWrite){let a=await mr(()=>n(d=>this.#$(d)));a!==void 0&&(r.say(a),r.mayWrite&&r.insist(a))}this.#w=!0,this.#p.goLive();for(let a of this.#d.openCalls())this.#p.begin(a);let i=await this.#O();return this.#l.stop(),this.#f.end(),i.kind==="returned"&&Ml(this.standingTries(),this.#a),r.abort("the hop has ended"),i}async openCalls(e,n){this.#I(e),await this.#v();let r=s(i=>this.#d.openCalls().some(a=>a.key===i),"isOpen");await this.#E(()=>n.every(r));let o=this.#d.openCalls();return this.#s.say({kind:"fenced"}),o}async rehearse(e,n){this.#I(e),await this.#v(),await this.#E(()=>n!=="its end"&&this.#D(n));let r=this.#d.openCalls().map(i=>i.id),o={missed:this.#S,end:this.#s.end,open:r};return this.#s.say({kind:"fenced"}),o}#D(e){return e.every(n=>this.#d.find(n)!==void 0)}async#$(e){return await this.#E(()=>this.#D(e)),this.#d.openCalls()}async#E(e){let n=this.#n.clock.monotonicMs();for(;this.#s.end===void 0&&!e();){if(this.#n.clock.monotonicMs()-n>this.#n.settings.replayPatienceMs)return;await Ne()}}fence(){this.#s.say({kind:"fenced"})}fail(e){this.#s.say(fi(e))}drain(){this.#s.say({kind:"yielded",why:"drain"})}mayWrite(){return this.#s.mayWrite}journal(){return this.#u.entries()}standingTries(){return this.#d.openCalls().filter(({wait:e})=>typeof e?.tries=="number")}hasTried(){return this.#l.hasTried()}hasWaited(){return this.#p.hasWaited()}unanswered(){return{calls:this.#d.openCalls().map(({id:e})=>e),more:this.#C}}#I(e){let n=s(d=>this.#s.refuse(d),"refuse"),r=s(()=>this.#w||this.#i.length===0||this.#d.closed()>this.#k,"isNew"),o=new wr({epoch:this.#e.epoch,hop:this,stepLimitMs:this.#r.limitMs-this.#n.settings.settleReserveMs,transactionLimitMs:this.#n.settings.transactionLimitMs,deps:this.#n,bodies:this.#g,calls:this.#d,now:s(()=>this.#b,"now"),hasEnded:s(()=>this.#s.end!==void 0,"hasEnded"),askedLate:s(()=>{this.#w&&this.#s.end!==void 0&&Ye(this.#s.end)&&(this.#C=!0)},"askedLate"),decide:s(d=>this.#s.say(d),"decide"),refuse:n,opened:s(d=>{this.#w&&this.#p.begin(d),this.#_.resolve()},"opened"),start:s((d,u)=>{if(this.#s.end!==void 0&&!this.#R(this.#s.end,d))return;let l=this.#c.start(d,u);l!==void 0&&this.#s.say(l)},"start"),startReserve:s(d=>this.#p.start(d),"startReserve"),startChild:s((d,u)=>{this.#s.end!==void 0&&!this.#R(this.#s.end,d)||this.#c.track(d,Xu(this.#e,d,u,this.#h,this.#n,this.#m,this.#r))},"startChild")}),i=zl({claim:this.#e,held:this.#o,log:this.#a,abortSignal:this.#s.signal,isNew:r,now:s(()=>this.#b,"now"),stream:s((d,u)=>this.#f.say(d,u,r,n),"stream"),asking:o});Oe({hop:this,scope:"",step:void 0,held:void 0},s(async()=>this.#t.run(i,e),"body")).then(d=>this.#s.say({kind:"returned",output:d}),d=>this.#s.say(fi(d)))}async#v(){let e=await ql(this.#i,{find:s(n=>this.#d.find(n),"find"),openCalls:s(()=>this.#d.openCalls(),"openCalls"),end:s(()=>this.#s.end,"end"),refused:s(()=>this.#s.refused,"refused"),resolve:s((n,r)=>this.#A(n,r),"resolve"),missed:s((n,r)=>{this.#S={entry:n,asked:r}},"missed"),patienceMs:this.#n.settings.replayPatienceMs,nowMs:s(()=>this.#n.clock.monotonicMs(),"nowMs")});e!==void 0&&(this.#x=!0,this.#s.insist(e))}async#O(){let e={word:this.#s,writer:this.#u,nextTries:this.#l,log:this.#a,ledgerNowMs:s(()=>se(this.#e,this.#n,this.#r),"ledgerNowMs"),resolve:s((n,r)=>this.#A(n,r),"resolve"),turn:s((n,r)=>this.#p.turn(n,r),"turn")};for(;;){this.#p.startReleases();let n=this.#c.takeFinished();if(n!==void 0)await Rl(n,e);else{if(this.#s.end!==void 0&&this.#c.isEmpty())return this.#s.end;if(await this.#N())this.#s.say({kind:"parked",standing:this.#d.openCalls()});else if(!this.#c.hasFinished()&&!(this.#s.end!==void 0&&this.#c.isEmpty())){let r=setTimeout(()=>{this.#s.end===void 0&&this.#c.isEmpty()&&Ll(this.#e,this.#a,this.#n)},this.#n.settings.overdueAfterMs),o=this.#p.yieldsInTime(this.standingTries());await this.#_.promise,clearTimeout(r),clearTimeout(o),this.#_=Ue()}}}}#N(){let{clock:e,settings:n}=this.#n;return Pl({still:s(()=>this.#s.end===void 0&&this.#c.isEmpty()&&this.#g.open().length===0&&this.#d.openCalls().length>0&&this.#d.openCalls().every(({wait:r})=>r!==void 0),"still"),asked:s(()=>this.#d.asked(),"asked"),hasAll:s(()=>this.#h.every(({call:r})=>this.#d.wasAsked(r)),"hasAll"),nowMs:s(()=>e.monotonicMs(),"nowMs"),restMs:n.parkRestMs,patienceMs:n.replayPatienceMs})}#R(e,n){return e.kind==="returned"?!0:e.kind==="restarted"&&this.#y.of(n.id).openIntent!==void 0}#A(e,{outcome:n,text:r,tries:o,completedAt:i}){this.#d.close(e),this.#b=i;let a=r===null?void 0:JSON.parse(r);this.#g.resolved(e,a,this.#w);let d=e.wait?.receive;n==="ok"?e.result.resolve(d===void 0?a:d(a)):e.result.reject(new st(e.id.name,o,a))}};var Or=class{static{s(this,"Registry")}#e=new Map;#t=new Map;#n=new Map;constructor(e){for(let n of e){let{name:r,version:o}=n.definition,i=`${r}@${o}`;if(this.#e.has(i))throw new k("configuration_invalid",`workflow "${r}" version ${o} is registered twice`,{fix:"Give each registered workflow its own name or version."});this.#e.set(i,n);let a=this.#t.get(r);(a===void 0||a.definition.version<o)&&this.#t.set(r,n);for(let d of n.definition.accepts)this.#r(n,d)}}#r(e,n){let{name:r,version:o}=e.definition,i=`${r}@${n}`,a=this.#n.get(i);if(a!==void 0)throw new k("configuration_invalid",`versions ${a.definition.version} and ${o} of workflow "${r}" both accept ${n}`,{fix:"Let one of them carry those runs on."});this.#n.set(i,e)}all(){return[...this.#e.values()]}pins(){return this.all().map(vi)}carried(){let e=[...this.#n].map(([r,{definition:o}])=>({name:o.name,version:o.version,digest:r.slice(o.name.length+1)})),n=[...this.pins(),...e].map(r=>[`${r.name}@${r.version}@${r.digest}`,r]);return[...new Map(n).values()]}choose(e,n){let r=n===void 0?this.#t.get(e):this.#e.get(`${e}@${n}`);if(r===void 0){let o=n===void 0?`"${e}"`:`"${e}" version ${n}`;throw new k("unknown_workflow",`there is no workflow ${o}`,{fix:`Registered are: ${[...this.#e.keys()].join(", ")||"none"}.`})}return r}find(e){return this.#e.get(`${e.name}@${e.version}`)}carrier(e){let n=this.find(e);return n?.digest===e.digest?n:this.#n.get(`${e.name}@${e.digest}`)}};function vi({definition:t,digest:e}){return{name:t.name,version:t.version,digest:e}}s(vi,"pinOf");function Nr(t,e){let n=e.carrier(t);if(n!==void 0){let u=vi(n);return{workflow:n.definition,adopts:u.digest===t.digest?void 0:u}}let r=e.find(t),o=r===void 0?"this worker has none of that name and version":`this worker has ${r.digest}`,{name:i,version:a,digest:d}=t;return{absent:`the run is pinned to workflow "${i}" version ${a} with digest ${d}; ${o}`}}s(Nr,"pinnedWorkflow");async function Gl(t,e,n,r){let o=await n.ledger.workflows.buildOf(t.workflow),i=t.workflowAbsentSince,a=i===null?0:t.claimedAt.getTime()-i.getTime();if(o===null||a>=n.settings.deployOverlapMs){let c=o===null?"no build is known to have it":`build "${o}" is known to have it`,m=i===null?"it was never given back":`it was given back for ${Math.floor(a/1e3)} s, since ${i.toISOString()}`;return $("workflow_changed",`${e}; ${c}, and ${m}`)}let{name:d,version:u,digest:l}=t.workflow;return n.logFor(t).warn("this build lacks the run's workflow; its delivery goes back for one that has it",{workflow:d,version:u,digest:l,build:o,waitedSeconds:Math.floor(a/1e3)}),{kind:"given_back",dueAt:new Date(se(t,n,r)+Xe),why:"this build lacks its workflow",workflowAbsent:!0}}s(Gl,"endWithoutWorkflow");async function Fl(t,e,n,r){let o={...$t(t,n),workflowDigest:e.digest};if(await r.faults("worker.before-adopt",t.runId),!await r.ledger.runs.adoptIfClaimed(t,e,o))return{kind:"fenced"};r.logFor(t).info("the run goes on with code that accepts its digest",{workflow:e.name,version:e.version,digest:e.digest,before:t.workflow.digest})}s(Fl,"adopt");async function Wl(t,e,n,r,o){let i=new AbortController,a=!1,d=s(()=>i.abort(new DOMException("the containment does not go on here","AbortError")),"stop");r.onHop({fence:s(()=>{a=!0,o.fence(),d()},"fence"),drain:s(()=>{o.drain(),d()},"drain")});try{let u=(await e.ledger.items.ofRun(t)).filter(sw),l=Nr(t.workflow,e.registry);if("absent"in l)return e.logFor(t).warn("a contain delivery has come to a build without the run's workflow",{workflow:t.workflow.name,version:t.workflow.version,digest:t.workflow.digest}),await wn(t,"refused",e);let c=await Ot(t,l.workflow,e);if(!Nt(c))return await wn(t,"refused",e);let m=await o.take(l.workflow);if(m!==void 0){if(a)return{kind:"fenced"};let A="why"in m?m.why:"the process is about to end";return e.logFor(t).warn("a contain delivery cannot have what it is to hold",{why:A}),await wn(t,"refused",e,A)}let f=new et(t,l.workflow,c,{...e,live:Bt},n,o),g=u.map(A=>Ul(A.key)),_=new Map((await f.openCalls(c.input,g)).map(A=>[P(A.id),A])),b=await Promise.all(u.map(A=>aw(t,A,_.get(Ul(A.key)),i.signal,e)));return a?{kind:"fenced"}:await wn(t,b.every(Boolean)?"done":"failed",e)}catch(u){if(!(u instanceof Y)&&!(u instanceof ee))throw u;return e.logFor(t).error("a contain delivery could not be begun",{error:u.message}),wn(t,"refused",e)}}s(Wl,"carryContain");function Ul(t){return JSON.stringify(JSON.parse(t))}s(Ul,"sameKey");function sw(t){return t.kind==="effect"&&t.acknowledgedAt===null}s(sw,"isOpenEffect");async function aw(t,e,n,r,o){if(n?.step?.probe===void 0)return!1;let i=o.logFor(t),a=await gi(n.step.probe,{call:n.id,claim:t,options:n.step,log:i,hopSignal:r,overdueAfterMs:o.settings.overdueAfterMs,onOverdue:s(()=>cn({call:n.id,claim:t,log:i},o),"onOverdue")});if(typeof a=="string"||a.outcome==="unknown")return i.warn("an effect of an ending run is still unknown",{step:n.id.name,reason:typeof a=="string"?a:"unknown"}),!1;let d=a.outcome==="happened"?"it has happened":"it has not happened, and cannot any more";return await o.ledger.items.acknowledge(t,{kind:"effect",key:e.key,by:"probe",words:d,under:t})!==null}s(aw,"settleEffect");async function wn(t,e,n,r="an effect is still unknown"){let{settled:o,ended:i}=await n.ledger.deliveries.settleContainIfClaimed(t,e);return o?(i===null&&(e!=="done"&&await n.ledger.runs.raiseAttention(t,`containment ${e}: ${r}`),await n.ledger.items.containSooner(t,n.settings.maxContainDeliveries)),{kind:"contained",outcome:e}):{kind:"fenced"}}s(wn,"finish");var qr=class{static{s(this,"Holdings")}#e;#t;#n;#r;#o=new AbortController;#i=[];#a;#u=[];#m=[];#f;#s;constructor(e,n,r){this.#e=e,this.#t=n,this.#n=r,this.#r=n.logFor(e);let o=s(i=>{this.#s===void 0?this.#h("what a hop holds has left an error to the process",i):this.#s.fail(i)},"leftBehind");this.#a={hop:{fail:o},scope:"",step:void 0,held:void 0}}get grants(){return Object.fromEntries(this.#u)}get resources(){return Object.fromEntries(this.#m)}get untilMs(){return Math.min(...this.#u.map(([,{expiresAt:e}])=>e?.getTime()??1/0))}get isEmpty(){return this.#i.length===0}fence(){this.#y("fenced")}drain(){this.#y("drained")}carriedBy(e){this.#s=e}async checkAuthority(e){if(e.authority===void 0)return;let{tenantId:n,runId:r,requestedBy:o,requestedRoles:i}=this.#e,a={tenantId:n,runId:r,subject:o,roles:i,required:e.authority.roles},d=await this.#c("the authority",async u=>so(await this.#t.authority.check({...a,workflow:this.#e.workflow},u)));if(d.kind!=="answered")return d;if(d.answer.outcome!=="valid")return{kind:"refused",code:"authority_revoked",why:`the authority of "${o}" does not hold: ${d.answer.reason}`}}async take(e){for(let n of e.grants){let r=await this.#d(n);if(r!==void 0)return r}for(let[n,r]of Object.entries(e.resources)){let o=await this.#l(n,r);if(o!==void 0)return o}}async release(){this.#s=void 0;for(let e=this.#i.pop();e!==void 0;e=this.#i.pop())await this.#g(e.what,e.back)}async#d(e){let{tenantId:n,runId:r,requestedBy:o,requestedRoles:i,workflow:a,seq:d}=this.#e,u=`the grant "${e}"`,l=await this.#c(u,async _=>ao(await this.#t.grants.acquire({tenantId:n,runId:r,name:e,subject:o,roles:i,workflow:a,seq:d},_)),_=>_.outcome==="granted"?_.release:void 0);if(l.kind!=="answered")return l;let{answer:c}=l;if(c.outcome==="refused")return{kind:"refused",code:"grant_refused",why:`${u} was refused to "${o}": ${c.reason}`};let{value:m,expiresAt:f,release:g}=c;if(g!==void 0&&this.#i.push({what:u,back:g}),f!==void 0&&f.getTime()<=se(this.#e,this.#t,this.#n))return{kind:"unknown",why:`${u} had expired when it was given, at ${f.toISOString()}`};this.#u=[...this.#u,[e,Object.freeze({value:m,expiresAt:f})]]}async#l(e,n){let{tenantId:r,runId:o}=this.#e,{grants:i}=this,a=s(c=>n.dispose===void 0?void 0:()=>n.dispose?.(c),"disposal"),d=`the resource "${e}"`,u=await this.#c(d,c=>n.build({tenantId:r,runId:o,grants:i,log:this.#r,signal:c}),a);if(u.kind!=="answered")return u;let l=a(u.answer);l!==void 0&&this.#i.push({what:d,back:l}),this.#m=[...this.#m,[e,u.answer]]}async#c(e,n,r=()=>{}){if(this.#f!==void 0)return{kind:this.#f};let{settings:o,faults:i}=this.#t,a=o.leaseHeld?ct:this.#p(o.ownerDeadlineMs,o.settleReserveMs),{promise:d,resolve:u}=Promise.withResolvers(),l=!1,c=s(b=>{let A=!l;return l=!0,u(b),A},"decide"),m=new AbortController,f=s(()=>{c({kind:this.#f??"fenced"})},"stopped");this.#o.signal.addEventListener("abort",f,{once:!0});let g=setTimeout(()=>c({kind:"unknown",why:`${e}: no answer within ${a} ms`}),a);Oe(this.#a,async()=>{await i("holdings.before-ask",e);let b=await n(m.signal);return await i("holdings.after-ask",e),b}).then(b=>{let A=r(b);!c({kind:"answered",answer:b})&&A!==void 0&&this.#g(e,A)},b=>c({kind:"unknown",why:`${e}: ${Kl(b)}`}));let _=await d;return clearTimeout(g),this.#o.signal.removeEventListener("abort",f),_.kind!=="answered"&&m.abort(new DOMException("nobody waits for it any more","AbortError")),_}async#g(e,n){let{settings:r,faults:o}=this.#t;try{let i=Oe(this.#a,async()=>{await o("holdings.before-release",e),await n(),await o("holdings.after-release",e)});if(await ve(i,this.#p(r.ownerDeadlineMs,r.settleReserveMs/2)))return;i.catch(a=>this.#h(`${e} was given back late, and failed`,a)),this.#r.warn("what a hop held was not given back in time; nobody waits for it any more",{what:e})}catch(i){this.#h(`${e} could not be given back`,i)}}#p(e,n){return Math.max(0,Math.min(e,this.#n.remainingMs()-n))}#y(e){this.#f!=="fenced"&&(this.#f=e),this.#o.abort()}#h(e,n){this.#r.warn(e,{error:Kl(n)})}};function Kl(t){let{name:e,message:n}=E(t);return`${e}: ${n}`.slice(0,300)}s(Kl,"messageOf");function Hl(t){return t!==void 0&&Be.CALLBACK_TOKEN.test(t)}s(Hl,"isCallbackToken");function Ai({tenantId:t,runId:e,attemptId:n},r){return D(`ghouls-callback-1
${JSON.stringify([t,e,n,r])}`)}s(Ai,"callbackDigest");var dw="0".repeat(64);function Pr(t,e,n){let r=Ai(t??{tenantId:"",runId:"",attemptId:""},n);return rt(r,e??dw)&&t!==null}s(Pr,"isTokenOf");var Bl=43,uw=/(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43,128}(?![A-Za-z0-9_-])/g;function Si(t,e){if(t.callbackDigest===null)return!1;let n=new Set;for(let[r]of e.matchAll(uw))for(let o=0;o+Bl<=r.length;o+=1)n.add(r.slice(o,o+Bl));return[...n].some(r=>Pr(t,t.callbackDigest,r))}s(Si,"repeatsToken");var lw=10,Jl=30,cw=86400;function Ql({cancelAsked:t,overdue:e,armOpen:n,parked:r}){return t||e||!n?"no":r?"now":"later"}s(Ql,"demandOf");function tt(t){let{status:e,traits:n,late:r,acknowledgedAt:o,submissions:i,misses:a,unsent:d}=t;return{status:e,traits:n,late:r,acknowledged:o!==null,demand:Ql(t),submissions:i,misses:a,unsent:d}}s(tt,"askedOf");function Tr({adapter:t,version:e,identity:n}){return D(ne({adapter:t,version:e,identity:n}))}s(Tr,"digestOfService");function qe(t,e){if(e==="DEFINED"||t.unsent)return Jl;let n=t.status===e?t.looks+1:0;return(e==="SUBMITTED"||e==="RUNNING")&&Ql(t)!=="no"?En(t.pollSeconds??cw,n):En(e==="SUBMITTING"?lw:Jl,n)}s(qe,"secondsToNextLook");var Vl="what it gave repeats the callback's token, a secret";async function Pt(t,e,n){if(e.state==="unknown"||e.state==="unsent"){let d=Si(t,e.why)?Vl:e.why;return{answer:{state:e.state,why:d}}}if(e.state!=="succeeded"&&e.state!=="failed")return{answer:e};let r;try{let d=e.state==="succeeded"?e.result??null:pw(e.error);r=fo(B(d)??"null").canonical}catch(d){if(!(d instanceof U)&&!(d instanceof k))throw d;return{answer:{state:"unknown",why:`what it gave cannot be kept: ${E(d).message}`}}}if(Si(t,r))return{answer:{state:"unknown",why:Vl}};let{tenantId:o,runId:i}=t,a=await $e("the report of a job",()=>n.encode(r,{tenantId:o,runId:i,kind:"report"}));return{answer:e,outcome:{report:{reportText:a,reportDigest:D(a)},canonical:r}}}s(Pt,"outcomeOf");var mw=200,fw=2e3;function pw({code:t,message:e}){let n=s((r,o)=>r.slice(0,o).replaceAll("\0","\uFFFD").toWellFormed(),"cut");return{code:n(t,mw)||"unknown",message:n(e,fw)}}s(pw,"bounded");function Yl({status:t},e,n,r){let o=s(i=>`it is ${t}, and then the service said that ${i}`,"said");switch(e.state){case"succeeded":case"failed":return t===(e.state==="succeeded"?"SUCCEEDED":"FAILED")&&n!==void 0&&(r===void 0||r===n.canonical)?void 0:o(e.state==="failed"?"it failed":"it succeeded, with another result");case"cancelled":return t==="CANCELLED"?void 0:o("it was cancelled");case"accepted":case"running":return t==="CANCELLED"?o("it runs"):void 0;case"absent":case"unsent":case"unknown":return}}s(Yl,"contradictionOf");function Lr(t,e,n){return Promise.all(e.flatMap(({id:r,wait:o})=>{if(o===void 0)return[];let i={call:r,armId:n.ids.next(),owner:o.owner,dueAt:o.dueAt,tries:o.tries},{consent:a,job:d}=o;return a!==void 0?[gw(t,a,n).then(u=>({...i,consent:u}))]:d!==void 0?[hw(t,r.name,d,n).then(u=>({...i,attempt:u}))]:[Promise.resolve(i)]}))}s(Lr,"standingOf");async function gw(t,e,{codec:n,ids:r}){let{title:o,deciders:i,quorum:a,expiresMs:d,onExpiry:u,requesterMayDecide:l,source:c}=e,m=ne({runId:t.runId,workflow:t.workflow,...hi(e)}),{tenantId:f,runId:g}=t,[_,b]=await $e(`the consent "${o}"`,async()=>[await n.encode(m,{tenantId:f,runId:g,kind:"consent"}),await ge(n,m)]);return{consentId:r.next(),title:o,requestText:_,storedDigest:D(_),requestDigest:b,deciders:i,quorum:a,requesterMayDecide:l,onExpiry:u,expiresInSeconds:d===null?null:d/1e3,source:c}}s(gw,"frozen");async function hw(t,e,n,{codec:r,ids:o}){let{service:i,definition:a,requestText:d,deadlineMs:u,heartbeatMs:l}=n,{tenantId:c,runId:m}=t,[f,g]=await $e(`the job "${e}"`,async()=>[await r.encode(d,{tenantId:c,runId:m,kind:"job"}),await ge(r,Qu(n))]),_=o.next(),b=s(A=>A===null?null:A/1e3,"seconds");return{attemptId:_,service:i,adapter:a.adapter,adapterVersion:a.version,serviceDigest:Tr(a),traits:a.traits,requestText:f,storedDigest:D(f),requestDigest:g,idempotencyKey:`ghouls-${_}`,pollSeconds:b(a.times.pollMs),heartbeatSeconds:b(l),deadlineSeconds:b(u)}}s(hw,"frozenJob");async function Ci(t,{journal:e,calls:n,idle:r,dueAt:o},i,a){let{deliveries:d}=a.ledger,u=$t(t,e),l={idle:r,publisherGraceSeconds:a.settings.publisherGraceSeconds,...o===void 0?{}:{dueAt:o}},c=await Lr(t,n,a);await a.faults("worker.before-handover",t.runId);let m=c.length===0?await d.yieldIfClaimed(t,u,l):await d.yieldStandingIfClaimed(t,u,c,l);return await a.faults("worker.after-handover",t.runId),m===null?{kind:"fenced"}:(o===void 0&&await Mr(t,m,a),{kind:"handed_over",why:i})}s(Ci,"handOver");async function Di(t,e,n){await n.faults("worker.before-handover",t.runId);let r=await n.ledger.deliveries.giveBackIfClaimed(t,e.dueAt,e.workflowAbsent);return await n.faults("worker.after-handover",t.runId),r===null?{kind:"fenced"}:{kind:"handed_over",why:e.why}}s(Di,"giveBack");async function Mr(t,e,n){let{tenantId:r,runId:o}=t;await n.publisher.publish({tenantId:r,runId:o,enqueueSeq:e.enqueueSeq,queue:e.queue})}s(Mr,"publishNext");async function jr(t,e,n,r){let{answer:o,outcome:i}=await Pt(t,_w(e,n),r.codec),a,d=await r.ledger.attempts.change(t,l=>{if(!yw(l,t,o,n)){a=l;return}if(!(n.sentFor===void 0&&(o.state==="unknown"||o.state==="unsent")&&l.looks!==t.looks))return Ri(l,ot({...tt(l),late:n.late},o),o,{outcome:i,by:"service",sentFor:n.sentFor})},r.settings),u=o.state==="accepted"||o.state==="running";if(a!==void 0&&!u&&await $i(a,o,i,r),await We(t,d,r),d!==null&&(o.state==="unknown"||o.state==="unsent")){let{runId:l,attemptId:c,service:m}=t;r.log.warn("a question about a job came to nothing",{runId:l,attemptId:c,service:m,why:o.why})}return d}s(jr,"recordAnswer");function yw(t,e,n,{sentFor:r}){if(t.token!==e.token||t.closedAt!==null)return!1;let o=n.state==="succeeded"||n.state==="failed",i=r!==void 0&&["accepted","running","unsent"].includes(n.state);return t.status===e.status||o||i}s(yw,"mayMove");function _w(t,{sentFor:e}){return t.state==="unsent"&&e===void 0?{state:"unknown",why:t.why}:t}s(_w,"heard");function Ri(t,e,n,r){let{outcome:o,by:i,sentFor:a,usesCallback:d=!1}=r,u=e.kind==="move"?e.to:t.status,l=u==="SUCCEEDED"||u==="FAILED";return{status:u,by:i,acknowledged:n.state==="accepted"||n.state==="running"||l,missed:e.kind==="keep"&&e.missed,nextLookSeconds:qe(t,u),usesCallback:d,...l&&o!==void 0?{report:o.report}:{},..."why"in e?{why:e.why}:{},...n.state==="unsent"?ww(t,n.why):{},...a===void 0?{}:{sentFor:a}}}s(Ri,"changeOf");function ww({misses:t},e){return{unsent:!0,...t+1<3?{}:{attention:`it cannot be sent: ${e}`}}}s(ww,"unsentOf");async function We(t,e,{publisher:n,log:r}){if(e===null)return;let{runId:o,attemptId:i,service:a}=t;if(e.status!==t.status){let d=e.status==="UNCERTAIN"?"warn":"info";r[d]("an attempt has moved",{runId:o,attemptId:i,service:a,from:t.status,to:e.status})}e.ended!==null&&r.info("a run has ended with its last job",{runId:o,status:e.ended}),e.resumption!==null&&await n.publish(e.resumption)}s(We,"follow");async function $i(t,e,n,{ledger:r,codec:o,log:i}){if(t.closedAt===null)return;let a=await zr(t,o),d=Yl(t,e,n,a);if(d===void 0)return;let{runId:u,attemptId:l,service:c,status:m}=t;i.error("a service contradicts the end of its job",{runId:u,attemptId:l,service:c,status:m}),await r.attempts.keepContradiction(t,d)}s($i,"tellContradiction");async function zr(t,e){let{tenantId:n,runId:r,reportText:o,reportDigest:i}=t;if(o!==null)return te(o,i,"a report",a=>e.decode(a,{tenantId:n,runId:r,kind:"report"}))}s(zr,"saidOf");var kw=1e3,kn=class extends Error{static{s(this,"ExecutorError")}constructor(e){super(e),this.name="ExecutorError"}},bw=30*86400;function Oi(t,{services:e}){let n=t.service,r=Object.hasOwn(e,n)?e[n]:void 0;if(r===void 0)throw new kn(`the configuration has no service "${n}"`);if(Tr(r)!==t.serviceDigest)throw new kn(`the service "${n}" is another executor now than the one that the job was made for`);return r}s(Oi,"executorOf");async function Ni(t,e,n,r,{delegation:o}){let i=Math.floor(Math.min(t.times.timeoutMs,r));if(i<1)return{answer:{state:"unknown",why:"there was no time left to ask"},over:!0};try{return{answer:await o.egress.ask(e,n,i),over:!0}}catch(a){return{answer:{state:"unknown",why:E(a).message.slice(0,300)},over:!(a instanceof lt)}}}s(Ni,"ask");async function Gr(t,e,n,r=()=>e.settings.ownerDeadlineMs){let{delegation:o,ids:i,clock:a,faults:d,settings:u,worker:l}=e,c=Oi(t,o),m=Math.min(c.times.timeoutMs,r())+kw;if(n()<m||r()<1)return null;let f=await Ew(t,e),g=o.publicUrl===void 0?null:{url:Iw(o.publicUrl,t.attemptId),token:o.newToken()},_=g===null?null:Ai(t,g.token),[b,A,O]=[a.monotonicMs(),a.wallMs(),n()],L=i.next();if(await d("delegate.before-claim",t.attemptId),!await xw(t,L,{deps:e,submission:{token:L,submitter:l,sendsForSeconds:Math.max(0,O)/1e3+u.actsMarginSeconds,callbackDigest:_,callbackSeconds:bw,nextLookSeconds:Math.ceil(c.times.timeoutMs/1e3)+u.publisherGraceSeconds}}))return null;await d("delegate.after-claim",t.attemptId);let V=Math.max(a.monotonicMs()-b,a.wallMs()-A),we={...t,status:"SUBMITTING",token:L,callbackDigest:_};if(V>O)return null;let{tenantId:Le,runId:pt,attemptId:Zr,idempotencyKey:Jc}=t,Vc={tenantId:Le,runId:pt,attemptId:Zr,idempotencyKey:Jc,requestText:f,callback:g},{answer:zi,over:Qc}=await Ni(c,t.service,{kind:"submit",job:Vc},r(),e);await d("delegate.after-submit",Zr);let Yc=Qc?u.actsMarginSeconds:null,Xc=zi.state==="unknown"?Yc:0,Zc=await jr(we,zi,{late:!1,sentFor:Xc},e);return await d("delegate.after-answer",Zr),Zc}s(Gr,"submitJob");async function xw(t,e,{deps:{ledger:n},submission:r}){try{return await n.attempts.claimSubmission(t,r)}catch(o){if(!(o instanceof q)||o.kind!=="unknown")throw o;let i=await n.attempts.get(t);return i?.status==="SUBMITTING"&&i.token===e}}s(xw,"claim");async function Ew(t,{ledger:e,codec:n}){let{tenantId:r,runId:o,storedDigest:i}=t,a=(await e.attempts.get(t))?.requestText??"";return te(a,i,"a job's request",d=>n.decode(d,{tenantId:r,runId:o,kind:"job"}))}s(Ew,"requestOf");function Iw(t,e){return`${t.replace(/\/+$/,"")}/v1/attempts/${e}/callback`}s(Iw,"callbackUrl");function Xl(t){return t instanceof kn||t instanceof ee||t instanceof Y}s(Xl,"isOfAttempt");async function Zl(t,e,n,r,o){let i=await Lr(t,n,r);await r.faults("worker.before-park",t.runId);let a=$t(t,e),{publisherGraceSeconds:d}=r.settings,u=s(()=>r.ledger.deliveries.parkIfClaimed(t,a,i,{publisherGraceSeconds:d}),"commit"),l=await u();for(;l?.kind==="mismatch"&&l.ownerId!==void 0;){let{ownerId:c,key:m}=l,f=n.find(_=>_.key===m)?.wait,g=await gn(t,c,f,r);if(g===void 0)break;i=i.map(_=>P(_.call)===m?vw(_,g):_),l=await u()}if(await r.faults("worker.after-park",t.runId),l===null)return{kind:"fenced"};switch(l.kind){case"mismatch":return{kind:"refused",end:$("journal_mismatch",`${l.what}: the code has changed or is not deterministic`)};case"continued":return await Mr(t,l.next,r),{kind:"handed_over",why:"what it waited for had happened"};case"parked":return await Promise.all([Sw(t,l.arms,r),Aw(t,l.arms,o,r)]),{kind:"parked",status:l.status}}}s(Zl,"park");function vw(t,e){return t.consent!==void 0?{...t,consent:{...t.consent,requestDigest:e}}:t.attempt===void 0?t:{...t,attempt:{...t.attempt,requestDigest:e}}}s(vw,"withDigest");async function Aw(t,e,n,r){if(!n.endsByForce||!e.some(({attemptStatus:i})=>i==="DEFINED"))return;let o=r.logFor(t);try{let i=await r.ledger.attempts.definedOfRun(t);await Promise.all(i.map(a=>Gr(a,{...r,log:o},n.remainingMs).catch(d=>{let u=E(d).message.slice(0,300);o.warn("a job could not be submitted; the reconciler looks after it",{job:a.name,error:u})})))}catch(i){o.warn("the run's jobs could not be read; the reconciler looks after them",{error:String(i).slice(0,200)})}}s(Aw,"submitAtOnce");async function Sw(t,e,n){let r=e.flatMap(({armId:a,dueInSeconds:d,call:u,seq:l})=>{if(d===null||d>me)return[];if(l!==t.seq&&u.kind!=="step")return[];let c=Math.max(0,Math.ceil(d));return[{armId:a,tenantId:t.tenantId,queue:t.queue,delaySeconds:c}]});if(r.length===0)return;let o=await n.queue.wake(r),[i]=o;i!==void 0&&n.logFor(t).warn("timers could not be sent; the reconciler will wake the run",{count:o.length,reason:i})}s(Sw,"wakeInTime");async function ec(t,e,n){let r=await Cw(t,e,n);if("end"in r)return{kind:"refused",end:r.end};await n.faults("worker.before-restart",t.runId);let o=await n.ledger.runs.restartIfClaimed(t,{inputText:r.stored,inputDigest:D(r.stored),workflowDigest:t.workflow.digest,journalDigest:pr([]),epoch:t.epoch},{publisherGraceSeconds:n.settings.publisherGraceSeconds});return await n.faults("worker.after-restart",t.runId),o===null?{kind:"fenced"}:(await Mr(t,o,n),{kind:"handed_over",why:"restart"})}s(ec,"restart");async function Cw(t,e,n){let r=s((o,i)=>({end:$(o,`ctx.restart: the new input ${i}`)}),"refuse");try{let o=B(e)??"null",i=n.registry.find(t.workflow)?.definition,a=i===void 0?void 0:await hr(i,o);if(a!==void 0)return r("input_invalid",`does not fit the workflow's schema: ${a}`);let{tenantId:d,runId:u}=t,l={tenantId:d,runId:u,kind:"input"};return{stored:await $e("the input of a restart",()=>n.codec.encode(o,l))}}catch(o){if(o instanceof U)return r(o.reason,o.message);throw o}}s(Cw,"newInput");import{setTimeout as $w}from"node:timers/promises";async function Fr(t,e,n,r){let{tenantId:o,runId:i}=t,a=n.kind==="returned"?await Rw(e,n.output):n.failure;if(Dw(a)){let u=await r.codec.encode(JSON.stringify(a),{tenantId:o,runId:i,kind:"error"});return{status:"FAILED",errorCode:a.code,errorText:u,errorDigest:D(u)}}if(a.text===void 0)return{status:"DONE",outputText:null,outputDigest:null};let d=await r.codec.encode(a.text,{tenantId:o,runId:i,kind:"output"});return{status:"DONE",outputText:d,outputDigest:D(d)}}s(Fr,"settlementOf");function Dw(t){return"code"in t}s(Dw,"isFailure");async function Rw(t,e){try{let n=await t?.output?.safeParseAsync(e);return n!==void 0&&!n.success?{code:"output_invalid",name:"Refused",message:`what the workflow returned does not fit its output schema: ${n.error.issues.slice(0,10).map(o=>`/${o.path.map(String).join("/")}: ${o.message}`).join("; ").slice(0,1500)}`}:{text:B(n===void 0?e:n.data)}}catch(n){return n instanceof U?{code:n.reason,name:"Refused",message:`what the workflow returned: ${n.message}`}:{code:"output_invalid",name:"Refused",message:`the output schema threw: ${E(n).message.slice(0,500)}`}}}s(Rw,"outputOf");async function tc(t,e,n){await n.faults("worker.before-settle",t.runId);let r=await n.ledger.deliveries.settleIfClaimed(t,e);return await n.faults("worker.after-settle",t.runId),r}s(tc,"settle");var Ow="Code outside of steps must do the same each time: use ctx.now(), ctx.random() and ctx.uuid() instead of Date.now(), Math.random() and crypto.randomUUID(), and read what may change inside a step.";async function oc(t,e,n){let{claim:r,workflow:o}=t,i=e.logFor(r);try{await e.faults("worker.before-replay-check",r.runId),await Nw(e);let a=await qw(t,e,n);if(a!==void 0){let{name:d,version:u}=o;i.warn(`${d}: on replay, ${a}`,{check:"replay",workflow:d,version:u,fix:Ow})}await e.faults("worker.after-replay-check",r.runId)}catch(a){i.warn("a hop could not be replayed for the check",{error:E(a).message.slice(0,200)})}}s(oc,"checkReplay");async function Nw({clock:t}){let e=t.wallMs();for(;t.wallMs()<=e;)await $w(1)}s(Nw,"untilLater");async function qw(t,e,n){let{claim:r,workflow:o,end:i,unanswered:a,journalLength:d}=t;if(i.kind==="failed"&&i.failure.code==="journal_mismatch")return;let u={...r,journalLength:r.journalStart+d},l=d===0?[]:await e.ledger.journal.read(r,r.journalStart),c=await gr(u,l.slice(0,d),e.codec),m=await Ot({...r,journalLength:r.journalStart,checkpointGeneration:null,seq:1},o,e);if(!Nt(m))return;let f={...e,log:rc,logFor:s(()=>rc,"logFor"),live:Bt},g={...n,remainingMs:s(()=>n.limitMs,"remainingMs")},b=await new et(u,o,{...m,journal:c},f,g,t.held).rehearse(m.input,qi(i)?"its end":a.calls),{missed:A}=b;if(A===void 0)return Pw(t,b);let O=A.asked.length===0?"not asked for":A.asked.join(", ").slice(0,500);return`call ${A.entry.ordinal} is ${O} where the run had ${ce(A.entry)}`}s(qw,"differenceOf");async function Pw({claim:t,workflow:e,end:n,unanswered:r},{end:o,open:i}){let a=o!==void 0&&qi(o)?o:void 0;if(n.kind==="parked"||Ye(n))return Tw(r,a,i);if(!qi(n))return;if(a===void 0){let l=ic(i);return l!==""?`it asks for ${l} where the run ${bn(n)}`:`it does not come to its end, where the run ${bn(n)}: it waits for something outside of steps`}let[d,u]=await Promise.all([nc(t,e,n),nc(t,e,a)]);if(d!==u)return a.kind!==n.kind||n.kind==="failed"?`it ${bn(a)} where the run ${bn(n)}`:n.kind==="returned"?"it returns something else than in the run":"it continues as new with another input than in the run"}s(Pw,"differenceOfEnds");function Tw({calls:t,more:e},n,r){let o=new Set(r.map(P)),i=t.find(u=>!o.has(P(u)));if(i===void 0&&!(e&&n!==void 0))return;let a=i===void 0?"went on":`asked for ${ce(i)}`;return`it ${n===void 0?`asks for ${ic(r)||"nothing"}`:bn(n)} where the run ${a}`}s(Tw,"differenceOfCalls");function ic(t){return t.map(ce).join(", ").slice(0,500)}s(ic,"inList");function qi(t){return t.kind==="returned"||t.kind==="restarted"?!0:t.kind==="failed"&&(t.failure.code==="workflow_failed"||t.failure.code==="step_failed")}s(qi,"isOfCode");function bn(t){return t.kind==="returned"?"returned":t.kind==="restarted"?"continued as new":`failed (${t.failure.name}: ${t.failure.message.slice(0,200)})`}s(bn,"inWords");async function nc(t,e,n){if(n.kind==="failed"){let{code:o,name:i,message:a,step:d}=n.failure;return JSON.stringify([o,i,a,d??null])}if(n.kind==="restarted")return Lw(n.input);let r=await Fr(t,e,n,{codec:_o});return r.status==="DONE"?`DONE ${r.outputDigest}`:`FAILED ${r.errorDigest}`}s(nc,"endOf");function Lw(t){try{return B(t)??"null"}catch(e){return E(e).message}}s(Lw,"newInputOf");var rc={debug:s(()=>{},"debug"),info:s(()=>{},"info"),warn:s(()=>{},"warn"),error:s(()=>{},"error")};async function Ur(t,e,n,r){let o=s(i=>new Date(se(e,n,r)+i),"due");switch(t.kind){case"refused":return $(t.code,t.why);case"fenced":return{kind:"fenced"};case"drained":return{kind:"given_back",dueAt:o(0),why:"drain"};case"unknown":return n.logFor(e).warn("a hop cannot have what it is to hold; its delivery goes back",{why:t.why}),await Mw(e,t.why,n),{kind:"given_back",dueAt:o(Xe),why:"it is not known what it may hold"}}}s(Ur,"endOf");async function Mw(t,e,{ledger:n,logFor:r,settings:o}){let i=o.giveBacksBeforeAttention;try{await n.deliveries.wereGivenBack(t,i)&&await n.runs.raiseAttention(t,`holdings_unknown: ${e} (given back ${i} times before)`)}catch(a){let{name:d}=E(a);r(t).warn("attention could not be raised",{error:d})}}s(Mw,"askForAPerson");async function ac(t,e,n,r){let o=new qr(t,e,n);r.onHop(o);let i=await jw(o,t,e,n,r);return await o.release(),i.kind==="fenced"&&await Ww(t,e),i}s(ac,"carry");async function jw(t,e,n,r,o){try{return await n.faults("worker.after-claim",e.runId),e.cause==="contain"?await Wl(e,n,r,o,t):await zw(e,n,r,o,t)}catch(i){return i instanceof Y?Bw(e,i.message,n):i instanceof ee?Kw(e,i,n,r):{kind:"unknown",error:i}}}s(jw,"carryWith");async function zw(t,e,n,r,o){let i=Nr(t.workflow,e.registry);if("absent"in i){let V=await Gl(t,i.absent,e,n);return Ae(t,V,e,n,void 0)}let a=await o.checkAuthority(i.workflow);if(a!==void 0){let V=await Ur(a,t,e,n);return Ae(t,V,e,n,void 0)}let d=await Ot(t,i.workflow,e);if(!Nt(d)){if(i.adopts!==void 0&&d.kind==="failed")throw sc(i.adopts,d.failure.message);return Ae(t,d,e,n,void 0)}if(t.deadlineAt!==null&&t.claimedAt>=t.deadlineAt){let V=`the run's deadline ${t.deadlineAt.toISOString()} had passed when a worker claimed it`;return Ae(t,$("deadline",V),e,n,void 0)}if(t.workflowAbsentSince!==null&&!await e.ledger.runs.clearAbsenceIfClaimed(t))return{kind:"fenced"};let u=await o.take(i.workflow);if(u!==void 0)return Ae(t,await Ur(u,t,e,n),e,n,void 0);let l={...n,holdsUntilMs:o.untilMs},c=new et(t,i.workflow,d,e,l,o);o.carriedBy(c),r.onHop(c);let{adopts:m,workflow:f}=i,g=!1,_=s(async(V,we)=>{let Le=await Yu(t,d,await we(_i(d)),e);if(Le!==void 0)return $("journal_mismatch",Le);let pt=await Fl(t,V,d.journal,e);return g=pt===void 0,pt},"takeOver"),b=await c.run(d.input,m===void 0?void 0:V=>_(m,V));if(m!==void 0&&!g&&b.kind==="unknown"&&Gw(b.error))throw b.error;let A=c.unanswered();if(m!==void 0&&!g&&b.kind==="failed")throw sc(m,b.failure.message);let O=m===void 0||!g?t:{...t,workflow:m},L=await Ae(O,b,e,n,c),_e=L.kind!=="fenced"&&L.kind!=="unknown"&&L.kind!=="quarantined";if(e.settings.replayCheck&&_e){let V=c.journal().length,Le=oc({claim:O,workflow:f,end:b,unanswered:A,held:o,journalLength:V},e,n);o.isEmpty||await Le}return L}s(zw,"carryHop");function Gw(t){return t instanceof ee||t instanceof Y}s(Gw,"isOfMaterial");function sc(t,e){return new Y(`workflow digest ${t.digest} accepts the run's, but ${e}`)}s(sc,"untrue");async function Ae(t,e,n,r,o){switch(e.kind){case"fenced":case"unknown":return e;case"given_back":{let[i,a]=[o?.journal()??[],o?.standingTries()??[]];return ue(()=>a.length===0?Di(t,e,n):Ci(t,{journal:i,calls:a,idle:!1,dueAt:e.dueAt},e.why,n),Wr(t,n,r,o))}case"yielded":{let i=o?.journal()??[],a=i.length-(t.journalLength-t.journalStart),u=o!==void 0&&a===0&&!o.hasTried()&&!o.hasWaited()&&(e.why==="time"||e.why==="grant");if(u&&e.why==="grant")return Ae(t,await Ur({kind:"unknown",why:"a grant had expired before a step could start"},t,n,r),n,r,o);if(!u||t.idleYields===0){let l=o?.standingTries()??[];return ue(()=>Ci(t,{journal:i,calls:l,idle:u},e.why,n),Wr(t,n,r,o))}return Ae(t,$("no_progress",Fw),n,r,o)}case"parked":case"restarted":{let i=o?.journal()??[];if(e.kind==="restarted"&&i.length===0)return Ae(t,$("no_progress",Uw),n,r,o);let a=await ue(()=>e.kind==="parked"?Zl(t,i,e.standing,n,r):ec(t,e.input,n),Wr(t,n,r,o)).catch(d=>{if(d instanceof ee)return d;throw d});return a instanceof ee?Ae(t,fn(t,a,n,r),n,r,o):a.kind==="refused"?Ae(t,a.end,n,r,o):a}case"returned":case"failed":{let i=n.registry.find(t.workflow)?.definition,a=await Fr(t,i,e,n),d=await ue(()=>tc(t,a,n),Wr(t,n,r,o));if(!d.settled)return{kind:"fenced"};a.status==="FAILED"&&a.errorCode==="effect_unknown"&&await n.ledger.runs.raiseAttention(t,"effect_unknown: an effect may or may not have happened"),xe(d.runStatus)&&await el(t,n,n.logFor(t));let u=a.status==="FAILED"?a.errorCode:void 0;return{kind:"settled",status:d.runStatus,...u===void 0?{}:{code:u}}}}}s(Ae,"conclude");function Wr(t,e,n,r){return{chance:e.chance,mayGoOn:s(()=>r?.mayWrite()!==!1&&n.remainingMs()>e.settings.settleReserveMs/2,"mayGoOn"),onPause:s(o=>e.logFor(t).warn("the ledger is out of reach; the hop's end waits",{kind:o.kind}),"onPause")}}s(Wr,"persistenceOf");var Fw="two invocations in a row ended without a new journal entry: a step does not fit into one",Uw="ctx.restart without a single journaled call before it would go on for ever";async function Ww(t,e){try{await e.ledger.items.acknowledgeWorker(t)}catch(n){e.logFor(t).warn("a worker could not acknowledge its own end",{error:String(n).slice(0,200)})}}s(Ww,"acknowledge");async function Kw(t,e,n,r){try{return await Di(t,fn(t,e,n,r),n)}catch(o){return{kind:"unknown",error:o}}}s(Kw,"later");async function Bw(t,e,n){try{return await n.ledger.runs.quarantineIfClaimed(t,e)?{kind:"quarantined",reason:e}:{kind:"fenced"}}catch(r){return{kind:"unknown",error:r}}}s(Bw,"quarantine");var Hw=10;async function dc(t,e){let n=new Map;return await Promise.all(t.map(async({messageId:r,body:o})=>{let i=go(o);i!==void 0&&n.set(r,await Jw(i,e))})),n}s(dc,"wakeUp");async function Jw(t,{ledger:e,publisher:n,settings:r,log:o,faults:i}){try{let a=await e.arms.runOf(t);if(a===null||!a.open)return{done:!0,reason:"timer_closed"};let{tenantId:d,runId:u,dueInSeconds:l}=a;if(l!==null&&l>0)return{done:!1,reason:"timer_early",retryInSeconds:Math.min(me,Math.ceil(l))};let c=await e.runs.resume({tenantId:d,runId:u},r.publisherGraceSeconds);return await i("worker.after-wake",u),c===null?{done:!0,reason:"timer_kept"}:(o.info("a run was brought back by its timer",{runId:u,armId:t,lateSeconds:Math.round(-(l??0))}),await n.publish(c),{done:!0,reason:"timer_woke"})}catch(a){return o.warn("a timer's message could not be followed; it comes back",{armId:t,error:E(a).message.slice(0,200)}),{done:!1,reason:"timer_unknown",retryInSeconds:Hw}}}s(Jw,"wakeArm");async function Tt({tenantId:t,runId:e},n,{codec:r,log:o}){try{let i=await r.encode(JSON.stringify(n),{tenantId:t,runId:e,kind:"error"});return{errorText:i,errorDigest:D(i)}}catch(i){o.error("the codec could not write why a run ends; the next pass tries",{runId:e,code:n.code,error:E(i).message.slice(0,200)});return}}s(Tt,"keptFailure");async function Kr(t,e={}){let{ledger:n,publisher:r,faults:o,log:i,settings:a}=t,{found:d,next:u}=await n.deliveries.lapsed(t.pageSize,e);if(d.length===0)return{counts:{lapsed:0,resumed:0,failing:0,failed:0},next:void 0};await o("reanimation.after-select",`${d.length} lapsed`);let l=(await Promise.all(d.map(g=>Vw(g,t)))).flat(),c=await n.deliveries.settleLost(l,a);await o("reanimation.after-judgement",`${c.length} judged`);let m=c.filter(g=>g.status==="QUEUED");for(let{runId:g,status:_,enqueueSeq:b}of c)i.warn("a worker was lost",{runId:g,status:_,enqueueSeq:b});return await Promise.all(m.map(g=>r.publish(g))),{counts:{lapsed:d.length,resumed:m.length,failing:c.filter(g=>g.status==="FAILING").length,failed:d.length-l.length},next:u}}s(Kr,"reanimate");async function Vw(t,e){if(t.onWorkerLoss==="resume"&&t.losses+1<e.settings.maxLosses)return[{...t,errorText:"",errorDigest:""}];let r={code:"ghoul_lost",name:"Lost",message:t.onWorkerLoss==="fail"?`the worker of delivery ${t.seq} was lost, and the workflow does not resume`:`the worker of delivery ${t.seq} was lost, and the run has used up its losses (${t.losses+1})`},o=await Tt(t,r,e);return o===void 0?[]:[{...t,...o}]}s(Vw,"withFailure");var Br=class{static{s(this,"Heartbeat")}#e;#t=new Set;#n;#r;#o;#i;#a;constructor(e,n){this.#e=e,this.#n=n,this.#r=n}start(e){for(let r of e)this.#t.add(r);if(this.#t.size===0)return;let n=Math.max(10,Math.min(this.#e.beatMs,this.#e.leaseMs/10));this.#o=setInterval(()=>this.#f(),n),this.#a=this.#d([...this.#t])}remove(e){this.#t.delete(e),this.#t.size===0&&this.#u()}async stop(){this.#u(),this.#t.clear(),await this.#i,await this.#a}#u(){clearInterval(this.#o),this.#o=void 0}#m(){return{monotonicMs:this.#e.clock.monotonicMs(),wallMs:this.#e.clock.wallMs()}}#f(){let e=this.#m(),{leaseMs:n,beatMs:r,leaseHeld:o}=this.#e;if(!o&&uc(this.#n,e)>n*.9){this.#l("its own lease could not be extended in time");return}this.#i!==void 0||uc(this.#r,e)<r||(this.#r=e,this.#i=this.#s(e).finally(()=>{this.#i=void 0}))}async#s(e){let{ledger:n,faults:r,leaseMs:o,log:i}=this.#e,a=[...this.#t];try{await r("worker.before-beat",`${a.length} claims`);let d=await n.deliveries.beatIfClaimed(a.map(c=>c.claim),o/1e3);this.#n=e;let u=a.filter(c=>d.has(`${c.claim.runId}:${c.claim.seq}`));for(let c of a)u.includes(c)||this.#c(c,"the ledger has given it to nobody or to another");let l=this.#a;this.#a=Promise.resolve(l).then(()=>this.#d(u))}catch(d){i.warn("a heartbeat failed",{claims:a.length,error:String(d).slice(0,200)})}}async#d(e){let{queue:n,queueName:r,leaseMs:o,log:i}=this.#e,a=e.filter(d=>this.#t.has(d)).flatMap(d=>d.receiptHandles);if(a.length!==0)try{let d=await n.changeVisibilities(r,a,Math.ceil(o/1e3));d.length>0&&i.warn("the visibility of messages could not be extended",{messages:d.length})}catch(d){i.warn("the visibility of messages could not be extended",{error:String(d).slice(0,200)})}}#l(e){for(let n of this.#t)this.#c(n,e)}#c(e,n){this.#t.delete(e)&&(this.#e.log.warn("a claim is fenced",{runId:e.claim.runId,enqueueSeq:e.claim.seq,why:n}),e.fence(n),this.#t.size===0&&this.#u())}};function uc(t,e){return Math.max(e.monotonicMs-t.monotonicMs,e.wallMs-t.wallMs)}s(uc,"since");async function cc(t,e,n){let r=dc(t,e),o=new Map;for(let d of t){let u=Sn(d.body);if(u===void 0)continue;let l=o.get(Pe(u));l===void 0?o.set(Pe(u),{...u,receiptHandles:[d.receiptHandle]}):l.receiptHandles.push(d.receiptHandle)}let[i,a]=await Promise.all([Qw(o,e,n),r]);return Promise.all(t.map(async d=>{let u=a.get(d.messageId);if(u!==void 0)return u.retryInSeconds!==void 0&&await lc(d,u.retryInSeconds,e,n),{messageId:d.messageId,done:u.done,reason:u.reason};let l=Sn(d.body);if(l===void 0)return e.log.error("a message is no delivery; it stays until the dead-letter queue takes it",{messageId:d.messageId,bytes:Buffer.byteLength(d.body)}),{messageId:d.messageId,done:!1,reason:"poison"};let c=i.get(Pe(l))??{done:!1,reason:"unknown_outcome"};return c.retryInSeconds!==void 0&&await lc(d,c.retryInSeconds,e,n),{messageId:d.messageId,done:c.done,reason:c.reason}}))}s(cc,"work");async function Qw(t,e,n){let r=[...t.values()];if(r.length===0)return new Map;if(e.draining.aborted)return new Map(r.map(u=>[Pe(u),{done:!1,reason:"draining",retryInSeconds:1}]));let o=new Map,i={monotonicMs:e.clock.monotonicMs(),wallMs:e.clock.wallMs()},a;try{a=await ek(r,e,n)}catch(u){e.log.error("a batch could not be claimed; its messages go back",{count:r.length,error:Hr(u)});let l={done:!1,reason:"unclaimed",retryInSeconds:Yw};return new Map(r.map(c=>[Pe(c),l]))}for(let[u,l]of await Xw(a,t,i,e,n)){let c=tk(u,l,e);c!==void 0&&o.set(Pe({runId:u.runId,enqueueSeq:u.seq}),c)}let d=r.filter(u=>!o.has(Pe(u)));for(let[u,l]of await nk(d,e))o.set(u,l);return o}s(Qw,"carryAll");var Yw=10;async function Xw(t,e,n,r,o){let{limitMs:i,remainingMs:a,endsByForce:d}=o,{leaseMs:u,beatMs:l,leaseHeld:c}=r.settings,m=new Br({...r,leaseMs:u,beatMs:l,leaseHeld:c,queueName:o.queue},n),f=t.map(O=>Zw(O,e.get(Pe({runId:O.runId,enqueueSeq:O.seq}))));m.start(f.map(O=>O.beating));let g=s(()=>f.forEach(O=>O.drain()),"drain");r.draining.addEventListener("abort",g,{once:!0}),r.draining.aborted&&g();let _=[],b=Promise.all(f.map(async O=>{let L={limitMs:i,remainingMs:a,endsByForce:d,claimedAtMs:n.monotonicMs};_.push([O.claim,await ac(O.claim,r,L,{onHop:O.onHop})]),m.remove(O.beating)})),A=await ve(b,a()-r.settings.settleReserveMs/4);return r.draining.removeEventListener("abort",g),await m.stop(),A||r.exit(`${t.length-_.length} steps are in flight at the end of the invocation`),_}s(Xw,"carryBatch");function Zw(t,e){let n,r,o=s(a=>{r=r==="fence"?r:a,n?.[a]()},"say"),i={claim:t,receiptHandles:e?.receiptHandles??[],fence:s(()=>o("fence"),"fence")};return{claim:t,beating:i,drain:s(()=>o("drain"),"drain"),onHop:s(a=>{n=a,r!==void 0&&a[r]()},"onHop")}}s(Zw,"carriedRun");function ek(t,e,n){let r=Math.max(1,n.remainingMs()/1e3);return e.ledger.deliveries.claimIfDue(t.map(o=>({...o,token:e.ids.next()})),{worker:e.worker,leaseSeconds:e.settings.leaseMs/1e3,actsForSeconds:n.endsByForce?r+e.settings.actsMarginSeconds:null})}s(ek,"claim");function tk(t,e,n){let r=n.logFor(t);switch(e.kind){case"settled":return r[e.code===void 0?"info":"warn"]("run settled",{status:e.status,workflow:t.workflow.name,...e.code===void 0?{}:{code:e.code,fix:"`ghouls show` tells why"}}),{done:!0,reason:e.status};case"handed_over":return r.info("the run goes on in another hop",{why:e.why}),{done:!0,reason:"handed_over"};case"parked":return r.info("the run waits",{status:e.status}),{done:!0,reason:e.status};case"contained":return r.info("a contain delivery has ended",{outcome:e.outcome}),{done:!0,reason:`contain_${e.outcome}`};case"quarantined":return r.error("run quarantined",{reason:e.reason}),{done:!0,reason:"quarantined"};case"fenced":r.warn("the claim was taken away; nothing more was written");return;case"unknown":return r.error("the hop's outcome is unknown; the claim stays as it is",{error:Hr(e.error)}),{done:!1,reason:"unknown_outcome"}}}s(tk,"verdictOf");async function nk(t,e){if(t.length===0)return[];try{let n=await e.ledger.deliveries.unclaimed(t),r=[...n].filter(([,o])=>o.deliveryStatus==="CLAIMED"&&(o.leaseEndsInSeconds??1)<=0);return r.length>0&&(await Kr({...e,pageSize:r.length},{runIds:r.map(([o])=>o.slice(0,o.indexOf(":")))}),n=await e.ledger.deliveries.unclaimed(t)),t.map(o=>{let i=So(n.get(Pe(o))),{runId:a,enqueueSeq:d}=o;return e.log.info("a delivery was skipped",{runId:a,enqueueSeq:d,reason:i.reason}),[Pe(o),i.deleteMessage?{done:!0,reason:i.reason}:{done:!1,reason:i.reason,retryInSeconds:i.retryInSeconds}]})}catch(n){return e.log.error("skipped deliveries could not be read; their messages go back",{error:Hr(n)}),[]}}s(nk,"explain");async function lc(t,e,n,r){try{await n.queue.changeVisibility(r.queue,t.receiptHandle,e)}catch(o){n.log.warn("a message's visibility could not be changed",{messageId:t.messageId,error:Hr(o)})}}s(lc,"putBack");function Pe(t){return`${t.runId}:${t.enqueueSeq}`}s(Pe,"keyOf");function Hr(t){let{name:e,message:n}=E(t);return`${e}: ${n}`.slice(0,300)}s(Hr,"nameOf");function Jr({micros:t,id:e}){return Buffer.from(`${t} ${e}`).toString("base64url")}s(Jr,"cursorOf");function Vr(t){let[e="",n=""]=Buffer.from(t,"base64url").toString().split(" ");if(!/^\d{1,18}$/.test(e)||!W(n))throw new k("invalid_request","the cursor is none of ours",{fix:"Take nextCursor of the page before, or none for the first page."});return{micros:e,id:n}}s(Vr,"positionOf");async function mc(t,e,n,r){if(!Hl(e))throw Qr();let o=Pr(t,t?.callbackDigest,e);if(t===null||!o||t.callbackExpired)throw Qr();return pn(()=>rk(t,e,n,r))}s(mc,"takeReport");async function rk(t,e,n,r){let{answer:o,outcome:i}=await Pt(t,n,r.codec);if(o.state==="unknown")throw await ok(t,o.why,r),new k("invalid_request",o.why,{fix:"Report a result that JSON can give back unchanged."});let a,d,u=await r.ledger.attempts.change(t,l=>{if(a=d=void 0,!Pr(l,l.callbackDigest,e)||l.callbackExpired?a=Qr():l.closedAt!==null&&([a,d]=[dk(l.status),l]),a===void 0)return ik(l,o,i)},r.settings);if(d!==void 0&&await $i(d,o,i,r),a!==void 0)throw a;if(u===null)throw Qr();return await We(t,u,r),u.status}s(rk,"record");async function ok(t,e,n){let r=await n.ledger.attempts.change(t,o=>o.token!==t.token||o.closedAt!==null||o.status==="UNCERTAIN"?void 0:{status:"UNCERTAIN",why:`it reported what cannot be kept: ${e}`,by:"callback",acknowledged:!0,missed:!1,nextLookSeconds:qe(o,"UNCERTAIN")},n.settings);await We(t,r,n)}s(ok,"keepUnreadable");function ik(t,e,n){let r=e.state==="accepted"||e.state==="running",o=tt(t);if(r&&o.demand==="no")return ak(t);let i=ot(o,e),a=i.kind==="move"&&!r;if(e.state==="cancelled"&&i.kind==="keep")return sk(t,i.why);let d=Ri(t,i,e,{outcome:n,by:"callback",usesCallback:a});return a?d:{...d,nextLookSeconds:qe(t,d.status)}}s(ik,"changeByReport");function sk(t,e){let n=t.traits.lookup==="none"?"UNCERTAIN":t.status,r=qe({...t,looks:0},"UNCERTAIN");return{status:n,why:e,by:"callback",acknowledged:!0,missed:!1,nextLookSeconds:r}}s(sk,"cancelledEarly");function ak({status:t}){return{status:t,by:"callback",acknowledged:!0,missed:!1,onlyAlive:!0,nextLookSeconds:0}}s(ak,"aliveStill");function Qr(){return new k("unauthenticated","the callback carries no token of this attempt, or the token's time is over",{fix:"Send the token that came with the submission, in the header Ghouls-Callback-Token."})}s(Qr,"notAuthentic");function dk(t){return new k("attempt_settled",`the attempt is ${t} already`,{fix:"Nothing is to be done: a report is taken once."})}s(dk,"settled");var fc={publisherGraceSeconds:15};function gc(t){let{ledger:e,codec:n,publisher:r,faults:o,log:i}=t,a={ledger:e,codec:n,publisher:{publish:s(d=>Qe(r,d),"publish")},log:i,settings:fc};return{get:s(async(d,u)=>{if(!W(u))return;let l=await e.attempts.get({tenantId:d,attemptId:u});return l===null?void 0:pn(()=>lk(l,n))},"get"),list:s(async(d,u,l)=>{let{attempts:c,next:m}=await e.attempts.page(d,u,{limit:l.limit,...l.cursor===void 0?{}:{after:Vr(l.cursor)}});return{attempts:c.map(hc),nextCursor:m===void 0?null:Jr(m)}},"list"),report:s(async(d,u,l)=>{let c=W(d)?await e.attempts.forCallback(d):null,m=await mc(c,u,l,a);return await o("callbacks.after-commit",d),{attemptId:d,status:m}},"report"),resolve:s((d,u,l)=>pn(async()=>{let{tenantId:c,subject:m}=d,f=W(u)?await e.attempts.get({tenantId:c,attemptId:u}):null;if(f===null)throw ck();let{answer:g,outcome:_}=await Pt(f,uk(l),n);if(g.state==="unknown")throw new k("invalid_request",g.why,{fix:"Give a result that JSON can hold."});let b=`operator ${m}`,A=f,O=await e.attempts.change(f,L=>(A=L,L.status!=="UNCERTAIN"||!L.late?void 0:{status:pc[l.outcome],by:b,acknowledged:!1,missed:!1,nextLookSeconds:0,..._&&{report:_.report}}),fc,{actor:m,reason:l.reason});if(O===null){let{status:L,closedBy:_e,runId:V}=A;if(L==="UNCERTAIN")throw Pi();if(_e===b&&L===pc[l.outcome]&&await zr(A,n)===_?.canonical)return{attemptId:u,runId:V,status:L,resumed:!1};throw new k("attempt_settled",`the attempt is ${L}: only one that is UNCERTAIN can be settled by a word`,{fix:"GET /v1/attempts/<id> has its state; cancel its run to have the job cancelled."})}return await We(f,O,a),{attemptId:u,runId:f.runId,status:O.status,resumed:O.resumption!==null}}),"resolve")}}s(gc,"createAttempts");function Pi(){return new k("attempt_under_way","a worker may still be sending the job to its service",{fix:"Wait, ask the service again after that, and then say how the job has ended."})}s(Pi,"underWay");var pc={succeeded:"SUCCEEDED",failed:"FAILED",cancelled:"CANCELLED"};function uk(t){switch(t.outcome){case"succeeded":return{state:"succeeded",result:t.result??null};case"failed":return{state:"failed",error:t.error??{code:"operator",message:t.reason}};case"cancelled":return{state:"cancelled"}}}s(uk,"answerOf");function hc(t){let e=s(n=>n?.toISOString()??null,"iso");return{attemptId:t.attemptId,runId:t.runId,workflow:t.workflow,name:t.name,status:t.status,service:t.service,executor:{adapter:t.adapter,version:t.adapterVersion,digest:t.serviceDigest},digest:t.requestDigest,idempotencyKey:t.idempotencyKey,submissions:t.submissions,uncertain:t.uncertainReason,trouble:t.trouble===null?null:{why:t.trouble.why,at:t.trouble.at.toISOString()},cancelling:t.cancelReason,contradiction:t.contradiction,createdAt:t.createdAt.toISOString(),acknowledgedAt:e(t.acknowledgedAt),heartbeatAt:e(t.heartbeatAt),deadlineAt:e(t.deadlineAt),nextLookAt:e(t.nextLookAt),closedAt:e(t.closedAt),closedBy:t.closedBy}}s(hc,"summaryOf");async function lk(t,e){let{tenantId:n,runId:r,requestText:o,storedDigest:i}=t,a=await te(o,i,"a job",l=>e.decode(l,{tenantId:n,runId:r,kind:"job"})),d=await zr(t,e),u=d===void 0?null:JSON.parse(d);return{...hc(t),request:JSON.parse(a),result:t.status==="SUCCEEDED"?u:null,error:t.status==="FAILED"?u:null}}s(lk,"viewOf");function ck(){return new k("not_found","there is no such attempt",{fix:"GET /v1/attempts lists those that this token may see."})}s(ck,"absent");function _c({ledger:t,codec:e,publisher:n,faults:r}){let o=s(async a=>{let[d,u]=await Promise.all([pk(a,e),t.consents.decisions(a)]);return{...yc(a),detail:d.detail,decisions:await gk(a,u,e)}},"viewOf"),i=s(async a=>{let d=await t.consents.decisions(a);return{...yc(a),decisions:d.map(({by:u,verdict:l,at:c})=>({by:u,verdict:l,at:c.toISOString()})),problem:a.intact?null:`its ${wc}`}},"summaryOf");return{get:s(async(a,d)=>{if(!W(d))return;let u=await t.consents.get({tenantId:a,consentId:d});return u===null?void 0:o(u)},"get"),list:s(async(a,d,u)=>{let{consents:l,next:c}=await t.consents.page(a,d,{limit:u.limit,...u.cursor===void 0?{}:{after:Vr(u.cursor)}});return{consents:await Promise.all(l.map(i)),nextCursor:c===void 0?null:Jr(c)}},"list"),decide:s(async(a,d,u)=>{let l=W(d)?await mk({ledger:t,codec:e},a,d,u):null;if(l===null)throw hk();await r("consents.after-commit",d);let{judgement:c,consent:m,resumption:f}=l;return f!==null&&await Qe(n,f),fk(c,m),{consentId:d,runId:m.runId,status:m.status,repeated:c.kind==="repeated",resumed:f!==null}},"decide")}}s(_c,"createConsents");async function mk({ledger:t,codec:e},n,r,{verdict:o,digest:i,comment:a}){let{tenantId:d,subject:u,roles:l}=n,c=await t.consents.get({tenantId:d,consentId:r});if(c===null)return null;let m=a===void 0?null:await e.encode(a,{tenantId:d,runId:c.runId,kind:"comment"});return t.consents.decide({tenantId:d,consentId:r},{subject:u,roles:l,verdict:o,digest:i,commentText:m,commentDigest:m===null?null:D(m)},{publisherGraceSeconds:15})}s(mk,"decide");function fk(t,e){switch(t.kind){case"counts":case"repeated":return;case"not_a_decider":throw new k("not_a_decider","this consent is for others to decide",{fix:`It is decided by ${e.deciders.join(", ")}.`});case"requester":throw new k("not_a_decider","whoever asked for the run may not decide its consent",{fix:"Let another decider decide, or set requesterMayDecide in the workflow."});case"changed":throw new k("consent_changed","the decision names another request than the one that is open",{fix:`Show the consent again; its digest is ${e.requestDigest}.`});case"contradicts":throw new k("consent_closed",`you have said "${t.verdict}" before, and a word stands`,{fix:"Cancel the run, or let the other deciders decide."});case"expired":throw new k("consent_closed",`the consent's time is over: it is ${e.status}`,{fix:"Ask for the run again."});case"closed":throw new k("consent_closed",`the consent is ${t.status} already, by ${t.by}`,{fix:"GET /v1/consents/<id> has all decisions."})}}s(fk,"refuseWhatDidNotCount");var wc="request disagrees with its digest";async function pk(t,e){let{tenantId:n,runId:r,requestText:o,storedDigest:i}=t;if(D(o)!==i)throw new k("integrity_fault",`of consent ${t.consentId} the ${wc}`);let a=await e.decode(o,{tenantId:n,runId:r,kind:"consent"});return JSON.parse(a)}s(pk,"requestOf");async function gk({tenantId:t,runId:e},n,r){return Promise.all(n.map(async({by:o,verdict:i,at:a,commentText:d})=>({by:o,verdict:i,at:a.toISOString(),comment:d===null?null:await r.decode(d,{tenantId:t,runId:e,kind:"comment"})})))}s(gk,"decodedDecisions");function yc(t){return{consentId:t.consentId,runId:t.runId,workflow:t.workflow,title:t.title,status:t.status,digest:t.requestDigest,deciders:[...t.deciders],quorum:t.quorum,requestedBy:t.requestedBy,requesterMayDecide:t.requesterMayDecide,onExpiry:t.onExpiry,source:t.source,createdAt:t.createdAt.toISOString(),expiresAt:t.expiresAt?.toISOString()??null,closedAt:t.closedAt?.toISOString()??null,closedBy:t.closedBy}}s(yc,"shownOf");function kc(t){return T("consent").includes(t)}s(kc,"isConsentStatus");function hk(){return new k("not_found","there is no such consent",{fix:"GET /v1/consents lists those that this token may see."})}s(hk,"absent");function Ti(t){return t.kind==="worker"?`worker-${t.key}`:`${t.kind}-${D(t.key).slice(0,12)}`}s(Ti,"itemId");function bc(t){return{id:Ti(t),kind:t.kind,subject:t.kind==="worker"||t.kind==="child"?t.worker:yk(t.key),enqueueSeq:t.seq,overAt:t.overAt?.toISOString()??null,createdAt:t.createdAt.toISOString(),acknowledgedAt:t.acknowledgedAt?.toISOString()??null,acknowledgedBy:t.acknowledgedBy,acknowledgement:t.acknowledgement}}s(bc,"itemView");function yk(t){let[,,,e]=JSON.parse(t);return e}s(yk,"callOf");function xc({ledger:t,publisher:e,settings:n}){let r=s(async(o,i)=>(await t.items.ofRun(o)).find(a=>a.acknowledgedAt===null&&Ti(a)===i),"openItem");return{cancel:s(async(o,i,a)=>{if(!W(i))throw nt();let d={tenantId:o.tenantId,runId:i},u=await t.runs.cancel(d,{actor:o.subject,reason:a},n.actsMarginSeconds);if(u===null)throw nt();return{runId:i,cancelled:u.cancelled,status:u.status}},"cancel"),clear:s(async(o,i,a)=>{if(!W(i))throw nt();let d=await t.runs.clearQuarantine({tenantId:o.tenantId,runId:i},{actor:o.subject,reason:a},15);if(d===null)throw nt();return d.resumption!==null&&await e.publish(d.resumption),{runId:i,cleared:d.cleared,status:d.status}},"clear"),resolve:s(async(o,i,a,d)=>{if(!W(i))throw nt();let u={tenantId:o.tenantId,runId:i},l=await r(u,a);if(l===void 0)throw nt();let{kind:c,key:m}=l;if(c==="child")throw _k(m);let f=await t.items.acknowledge(u,{kind:c,key:m,by:"operator",words:d},{actor:o.subject,reason:d});if(f===null)throw c==="attempt"&&await r(u,a)!==void 0?Pi():nt();let g=f.ended??(await t.runs.get(u))?.status;if(g===void 0)throw nt();return{runId:i,item:a,openItems:f.openItems,status:g}},"resolve")}}s(xc,"createControl");function _k(t){return new k("child_open",`child ${t} has not ended, and no word can say that it has`,{fix:`Cancel it, or settle its own items: \`ghouls show ${t}\` lists them.`})}s(_k,"childOpen");function nt(){return new k("not_found","there is no such run, or no such open item of it",{fix:"Check the ids: `ghouls show <run id>` lists the items of a run."})}s(nt,"absent");var wk="0".repeat(64);function Ec({ledger:t,log:e}){return async n=>{let r=no(n);if(r===void 0)return;let o=await t.keys.byId(r.keyId),i=rt(r.digest,o?.digest??wk);if(o===null||!i||o.expired||o.revokedAt!==null)return;o.useIsDue&&await kk(o,t,e);let{tenantId:a,subject:d,roles:u,permissions:l}=o;return{tenantId:a,subject:d,roles:u,permissions:l.filter(ho)}}}s(Ec,"createKeyAuthenticator");async function kk(t,e,n){try{await e.keys.markUsed(t)}catch(r){n.warn("the use of a key could not be recorded",{keyId:t.keyId,name:E(r).name})}}s(kk,"markUsed");function vc(t){return{check:s(async({tenantId:e,subject:n,roles:r,required:o})=>{let i=o.filter(u=>!r.includes(u));if(i.length>0)return{outcome:"revoked",reason:`it was admitted without the role ${Ic(i)}`};let a=await t.keys.rolesOfSubject({tenantId:e,subject:n});if(a===null)return{outcome:"revoked",reason:"it has no key that is neither revoked nor expired"};let d=o.filter(u=>!a.includes(u));return d.length===0?{outcome:"valid"}:{outcome:"revoked",reason:`no usable key of it has the role ${Ic(d)}`}},"check")}}s(vc,"createKeyAuthority");function Ic(t){return t.map(e=>`"${e}"`).join(", ")}s(Ic,"inWords");function Ac(t){return{acquire:s(async({tenantId:e,name:n,subject:r,roles:o})=>{let i=[bk(r),...o.map(d=>`role:${d}`)],a=await t.grants.live({tenantId:e,name:n},i);if(a===null){let d=i.join(", ");return{outcome:"refused",reason:`in tenant "${e}" no grant that is neither revoked nor expired names ${d}; \`ghouls grants create ${n} --tenant ${e} --holder ${i[0]}\` makes one`}}return{outcome:"granted",...a.expiresAt===null?{}:{expiresAt:a.expiresAt}}},"acquire")}}s(Ac,"createLedgerGrants");function bk(t){return t.startsWith("user:")?t:`user:${t}`}s(bk,"holderOf");var xk={bytesPerRun:262144,bytes:4194304,endedRuns:32},Ek=256,Yr=class{static{s(this,"LiveRing")}#e;#t=new Map;#n=new Set;#r=0;constructor(e=xk){this.#e=e}write(e){let{runId:n}=e,r=this.#t.get(n)??{events:[],bytes:0};for(this.#t.delete(n),this.#t.set(n,r),this.#n.delete(n),r.events.push(e),this.#o(r,Sc(e));r.bytes>this.#e.bytesPerRun;){let o=r.events.shift();if(o===void 0)break;this.#o(r,-Sc(o))}for(let o of this.#t.keys()){if(this.#r<=this.#e.bytes)break;this.#i(o)}}end({runId:e}){if(!this.#t.has(e))return;this.#n.delete(e),this.#n.add(e);let[n]=this.#n;this.#n.size>this.#e.endedRuns&&n!==void 0&&this.#i(n)}read(e){return[...this.#t.get(e)?.events??[]]}clear(){for(let e of this.#t.keys())this.#i(e)}#o(e,n){e.bytes+=n,this.#r+=n}#i(e){this.#r-=this.#t.get(e)?.bytes??0,this.#t.delete(e),this.#n.delete(e)}};function Sc({channel:t,chunk:e}){return Ek+2*(t.length+e.length)}s(Sc,"sizeOf");function Cc(t){let{ledger:e,codec:n}=t;return{getRun:s(async(r,o)=>{if(!W(o))return;let i=await e.runs.get({tenantId:r,runId:o});if(i===null)return;let a={tenantId:r,runId:o},[d,u,l]=await Promise.all([e.items.ofRun(a),e.arms.openOfRun(a),e.reservations.ofRun(a)]);return Ik(i,{items:d,arms:u,reservations:l},n)},"getRun"),listRuns:s(async(r,o,i)=>{let{runs:a,nextCursor:d}=await e.runs.page(r,o,i);return{runs:a.map(Dc),nextCursor:d}},"listRuns"),getTimeline:s(async(r,o)=>{if(!W(o))return;let i={tenantId:r,runId:o},a=await e.runs.get(i);if(a===null)return;let[d,u]=await Promise.all([e.deliveries.ofRun(i),e.journal.read(i)]);return{runId:o,status:a.status,entries:vk(a,d,u)}},"getTimeline")}}s(Cc,"createReads");var ft=s(t=>t?.toISOString()??null,"iso");function Dc(t){let e=s(n=>n===null?null:{reason:n.reason,at:n.at.toISOString()},"flag");return{runId:t.runId,parentRunId:t.parentRunId,workflow:t.workflow,status:t.status,queue:t.queue,priority:t.priority,agent:t.agent,idempotencyKey:t.idempotencyKey,requestedBy:t.requestedBy,enqueueSeq:t.enqueueSeq,steps:t.journalLength,errorCode:t.errorCode,attention:e(t.attention),quarantine:e(t.quarantine),pausedAt:ft(t.pausedAt),deadlineAt:ft(t.deadlineAt),createdAt:t.createdAt.toISOString(),startsAt:ft(t.startsAt),startedAt:ft(t.startedAt),finishedAt:ft(t.finishedAt)}}s(Dc,"summaryOf");async function Ik(t,e,n){let{tenantId:r,runId:o}=t,i=s(async(a,d)=>a===null?null:JSON.parse(await n.decode(a,{tenantId:r,runId:o,kind:d})),"read");return{...Dc(t),waits:e.arms.map(({call:{kind:a,name:d,scope:u},dueAt:l,consentId:c,attemptId:m,childRunId:f})=>({kind:a,name:d,scope:u,dueAt:ft(l),consentId:c,attemptId:m,childRunId:f})),reservations:e.reservations.map(a=>({...a,askedAt:a.askedAt.toISOString(),heldAt:ft(a.heldAt)})),input:await i(t.inputText,"input"),output:await i(t.outputText,"output"),error:await i(t.errorText,"error"),containment:e.items.map(bc)}}s(Ik,"viewOf");function vk(t,e,n){let r=[{kind:"admitted",at:t.createdAt.toISOString()}];for(let i of e)r.push(...Sk(i));for(let i of n)r.push({kind:"step",at:i.completedAt.toISOString(),enqueueSeq:i.seq,ordinal:i.ordinal,call:i.kind,name:i.name,scope:i.scope,nth:i.nth,outcome:i.outcome,tries:i.tries,startedAt:i.startedAt.toISOString()});t.finishedAt!==null&&r.push({kind:"finished",at:t.finishedAt.toISOString(),status:t.status,errorCode:t.errorCode});let o=s(i=>Ak.indexOf(i.kind),"rank");return r.toSorted((i,a)=>i.at===a.at?o(i)-o(a):i.at<a.at?-1:1)}s(vk,"timelineOf");var Ak=["admitted","delivery","published","claimed","step","worker_ended","fenced","settled","finished"];function Sk(t){let{seq:e,cause:n,status:r,publications:o}=t,i=[{kind:"delivery",at:t.createdAt.toISOString(),enqueueSeq:e,cause:n,status:r,dueAt:t.dueAt.toISOString()}];t.publishedAt!==null&&i.push({kind:"published",at:t.publishedAt.toISOString(),enqueueSeq:e,publications:o});let a=t.claimedBy??"unknown";if(t.claimedAt!==null&&i.push({kind:"claimed",at:t.claimedAt.toISOString(),enqueueSeq:e,worker:a}),t.workerEndedAt!==null){let d=t.workerEnd??"unknown";i.push({kind:"worker_ended",at:t.workerEndedAt.toISOString(),enqueueSeq:e,worker:a,how:d})}return t.settledAt!==null&&t.outcome!==null&&i.push({kind:"settled",at:t.settledAt.toISOString(),enqueueSeq:e,outcome:t.outcome}),t.fencedAt!==null&&i.push({kind:"fenced",at:t.fencedAt.toISOString(),enqueueSeq:e}),i}s(Sk,"ofDelivery");async function Rc(t,e){let{ledger:n,publisher:r,faults:o,log:i,settings:a}=t,{found:d,next:u}=await n.children.ends(t.pageSize,e);d.length>0&&await o("children.after-select",`${d.length} ends`);let[l,c,m]=[0,0,0];for(let f of d){let{runId:g,parentRunId:_}=f;try{let b=await n.children.tellParent(f,a.publisherGraceSeconds);if(await o("children.after-tell",g),b.ended!==null&&(c+=1),b.resumption===null)continue;l+=1,i.info("a run was brought back by the end of its child",{runId:_,childRunId:g}),await r.publish(b.resumption)}catch(b){m+=1,i.warn("the end of a child could not be told",{runId:g,error:String(b).slice(0,200)})}}return{counts:{due:d.length,resumed:l,ended:c,failed:m},next:u}}s(Rc,"tellParents");async function $c(t,e){let{ledger:n,faults:r,log:o}=t,{found:i,next:a}=await n.items.due(t.pageSize,e);i.length>0&&await r("containment.after-select",`${i.length} runs`);let[d,u]=[0,0];for(let l of i)try{let c=await n.items.contain(l,t.settings.maxContainDeliveries);await r("containment.after-look",l.runId),c.ended!==null?(d+=1,o.info("a run has ended, and nothing of it can act any more",{runId:l.runId,status:c.ended})):c.needsWord&&await n.runs.raiseAttention(l,"containment: something of the run waits for a word"),c.children&&await Ck(l,t)}catch(c){u+=1,o.warn("a run's items could not be looked at",{runId:l.runId,error:String(c).slice(0,200)})}return{counts:{due:i.length,ended:d,failed:u},next:a}}s($c,"contain");async function Ck(t,{ledger:e,faults:n,log:r,settings:o}){let i={actor:`run ${t.runId}`,reason:"its parent goes on without it"};for(let a of await e.children.toCancel(t))try{await e.children.cancel(a,i,o.actsMarginSeconds),await n("containment.after-cancel",a.runId)}catch(d){r.warn("a child could not be cancelled",{runId:a.runId,error:String(d).slice(0,200)})}}s(Ck,"cancelChildren");function Dk(t){return Math.min(3600,30*2**Math.min(t,10))}s(Dk,"nextLookSeconds");async function Oc(t,e){let{ledger:n,faults:r,log:o}=t,{found:i,next:a}=await n.consents.toLookUp(t.pageSize,e);i.length>0&&await r("consents.after-select",`${i.length} due`);let d=await Promise.all(i.map(async l=>{try{return await n.consents.postponeLookUp(l,Dk(l.looks)),await Rk(l,t)}catch(c){return o.warn("a decision source could not be asked",{runId:l.runId,source:l.source,error:E(c).message.slice(0,200)}),"failed"}})),u=s(l=>d.filter(c=>c===l).length,"count");return{counts:{due:i.length,decided:u("decided"),failed:u("failed")},next:a}}s(Oc,"lookUpConsents");async function Rk(t,e){let{ledger:n,publisher:r,codec:o,faults:i,log:a,settings:d}=e,u=t.source??"",l=Object.hasOwn(e.decisionSources,u)?e.decisionSources[u]:void 0;if(l===void 0)throw new Error(`the configuration has no decision source "${u}"`);let{tenantId:c,runId:m,consentId:f,title:g,requestText:_,requestDigest:b}=t,A=JSON.parse(await o.decode(_,{tenantId:c,runId:m,kind:"consent"})),O=new AbortController,L=Eo(await Fe(l.lookUp({tenantId:c,runId:m,consentId:f,title:g,digest:b,detail:A.detail},O.signal),d.ownerDeadlineMs).finally(()=>O.abort()));if(await i("consents.after-look",f),L.outcome==="pending")return"pending";let _e=L.comment??null,V=_e===null?null:await o.encode(_e,{tenantId:c,runId:m,kind:"comment"}),we=await n.consents.decide({tenantId:c,consentId:f},{subject:`source:${u}/${L.by}`.slice(0,300),roles:[],verdict:L.outcome,digest:b,commentText:V,commentDigest:V===null?null:D(V)},{publisherGraceSeconds:d.publisherGraceSeconds,asSource:!0});if(we===null)return"pending";we.resumption!==null&&await r.publish(we.resumption);let{outcome:Le}=L;if(we.judgement.kind!=="counts"){let{status:pt}=we.consent;return a.info("a decision source was late",{runId:m,source:u,outcome:Le,status:pt}),"late"}return a.info("a decision source has decided a consent",{runId:m,source:u,outcome:Le}),"decided"}s(Rk,"lookUp");async function qc(t,e){let{ledger:n,faults:r,pageSize:o}=t,{found:i,next:a}=await n.attempts.due(o,e);i.length>0&&await r("delegates.after-select",`${i.length} due`);let d=await Promise.all(i.map(c=>$k(c,t))),u=s(c=>d.filter(m=>m===c).length,"count"),l={submitted:u("submitted"),ended:u("ended"),failed:u("failed")};return{counts:{due:i.length,...l},next:a}}s(qc,"lookAfterJobs");async function $k(t,e){let{runId:n,attemptId:r,service:o}=t,{clock:i,settings:a}=e,d=i.monotonicMs()+a.ownerDeadlineMs;try{let u=await Ok(t,{...e,withinMs:s(()=>d-i.monotonicMs(),"withinMs")});return await e.faults("delegates.after-look",r),u}catch(u){let l=E(u).message.slice(0,300);return e.log.warn("a job could not be looked after",{runId:n,attemptId:r,service:o,error:l}),Xl(u)&&await Tk(t,l,e),"failed"}}s($k,"lookAt");async function Ok(t,e){let n=t.heartLapsed?await Nk(t,e):t;if(n===void 0)return"open";switch(ro(tt(n))){case"drop":return Mi(await ji(n,{state:"cancelled"},e));case"submit":return await Pc(n,e)?"submitted":"open";case"wait":return Mi(await qk(n,e));case"lookUp":return Nc(n,await Li("lookUp",n,e),e);case"cancel":return Nc(n,await Pk(n,e),e)}}s(Ok,"act");async function Nk(t,e){let n=`it has said nothing for more than ${t.heartbeatSeconds} s`,r=await e.ledger.attempts.change(t,o=>o.status===t.status&&o.token===t.token&&o.heartLapsed?{status:"UNCERTAIN",why:n,by:"time",acknowledged:!1,missed:!1,nextLookSeconds:qe(o,"UNCERTAIN")}:void 0,e.settings);return await We(t,r,e),r===null?void 0:{...t,status:"UNCERTAIN",uncertainReason:n,looks:0,misses:0,heartLapsed:!1}}s(Nk,"withoutHeartbeat");async function qk(t,e){let{status:n,demand:r}=tt(t),o=n==="SUBMITTED"||n==="RUNNING";return n==="DEFINED"||t.unsent||o&&r!=="no"?e.ledger.attempts.change(t,i=>i.status===n&&i.token===t.token?{status:n,by:"time",acknowledged:!1,missed:!1,nextLookSeconds:qe(i,n)}:void 0,e.settings):ji(t,{state:"unknown",why:"its service can be asked neither about a job nor to cancel one"},e)}s(qk,"waitOn");async function Pk(t,e){let n=t.overdue&&t.armOpen?"deadline":"ended";if(!await e.ledger.attempts.askToCancel(t,n))return;let r=await Li("cancel",t,e);if(["cancelled","succeeded","failed"].includes(r.state)||t.traits.lookup==="none")return r;let i=await Li("lookUp",t,e);return i.state==="unknown"?r:i}s(Pk,"cancel");async function Nc(t,e,n){if(e===void 0)return"open";if(ot(tt(t),e).kind==="resubmit")return await Pc(t,n)?"submitted":"open";let r=Mi(await ji(t,e,n));return e.state==="unknown"?"failed":r}s(Nc,"settle");async function Pc(t,e){return await Gr(t,e,e.remainingMs,e.withinMs)!==null}s(Pc,"submit");function ji(t,e,n){return jr(t,e,{late:t.late||t.status==="DEFINED"||t.unsent},n)}s(ji,"record");async function Li(t,e,n){let{tenantId:r,runId:o,attemptId:i,idempotencyKey:a}=e,d={tenantId:r,runId:o,attemptId:i,idempotencyKey:a},u=Oi(e,n.delegation),{answer:l}=await Ni(u,e.service,{kind:t,job:d},n.withinMs(),n);return l}s(Li,"question");function Mi(t){return t!==null&&["SUCCEEDED","FAILED","CANCELLED"].includes(t.status)?"ended":"open"}s(Mi,"ended");async function Tk(t,e,n){let{ledger:r,settings:o,log:i}=n,{status:a,token:d}=t,u=t.misses+1<3,c=a!=="DEFINED"&&(a!=="SUBMITTING"||t.late)&&!u?"UNCERTAIN":a;try{let m=await r.attempts.change(t,f=>f.status===a&&f.token===d?{status:c,why:e,by:"time",acknowledged:!1,missed:!0,nextLookSeconds:u?Lk:qe(f,c),...u?{}:{attention:e}}:void 0,o);await We(t,m,n)}catch(m){i.warn("a person could not be asked for",{runId:t.runId,error:E(m).message})}}s(Tk,"askForAPerson");var Lk=30;async function Tc(t,e){let{ledger:n,faults:r,log:o,settings:i}=t,{found:a,next:d}=await n.runs.overdue(t.pageSize,e);a.length>0&&await r("deadlines.after-select",`${a.length} overdue`);let[u,l]=[0,0];for(let c of a){let m={code:"deadline",name:"Deadline",message:`the run's deadline ${c.deadlineAt.toISOString()} has passed while it was ${c.status}`};try{let f=await Tt(c,m,t);if(f===void 0){l+=1;continue}let g=await n.runs.failOverdue({...c,...f},i.actsMarginSeconds);if(await r("deadlines.after-failure",c.runId),g===null)continue;u+=1,o.warn("a run's deadline has passed",{runId:c.runId,status:g})}catch(f){l+=1,o.warn("an overdue run could not be ended",{runId:c.runId,error:String(f).slice(0,200)})}}return{counts:{overdue:a.length,ended:u,failed:l},next:d}}s(Tc,"endOverdue");async function Lc(t,e){let{ledger:n,faults:r,log:o}=t,{found:i,next:a}=await n.deliveries.expiredHolds(t.pageSize,e);if(i.length===0)return{counts:{expired:0,ended:0,failed:0},next:void 0};await r("holds.after-select",`${i.length} expired`);let d=(await Promise.all(i.map(c=>Mk(c,t)))).flat(),u=await n.deliveries.expireHolds(d);await r("holds.after-expiry",`${u.length} ended`);for(let{runId:c,status:m}of u)o.info("a held run was not released in time",{runId:c,status:m});let l=i.length-d.length;return{counts:{expired:i.length,ended:u.length,failed:l},next:a}}s(Lc,"expireHolds");async function Mk(t,e){let n={code:"hold_expired",name:"Expired",message:`the run was held until ${t.expiredAt.toISOString()}, and nobody released it`},r=await Tt(t,n,e);return r===void 0?[]:[{...t,...r}]}s(Mk,"withFailure");async function Mc(t){let{ledger:e,queue:n,faults:r,log:o}=t,i=await e.deliveries.duePublications(t.pageSize);if(i.length===0)return{due:0,published:0,failed:0};await r("relay.after-select",`${i.length} due`);let{confirmed:a,failed:d}=await n.publish(i);await r("relay.after-publish",`${a.length} confirmed`),await e.deliveries.markPublished(a),await e.deliveries.markPublicationFailed(d);for(let{publication:l,reason:c}of d)o.warn("the relay could not publish a delivery",{runId:l.runId,reason:c});let u=new Set(a.map(l=>`${l.runId}:${l.enqueueSeq}`));for(let l of i)l.publications+1<bo||!u.has(`${l.runId}:${l.enqueueSeq}`)||await e.runs.raiseAttention(l,"unclaimed: published again and again, and claimed by no worker");return{due:i.length,published:a.length,failed:d.length}}s(Mc,"relay");async function jc(t,e){let{ledger:n,publisher:r,faults:o,log:i,settings:a}=t,{found:d,next:u}=await n.arms.due(t.pageSize,e);d.length>0&&await o("timers.after-select",`${d.length} due`);let[l,c]=[0,0];for(let{tenantId:m,runId:f,armId:g,lateSeconds:_}of d)try{let b=await n.runs.resumeDue({tenantId:m,runId:f},a.publisherGraceSeconds);if(await o("timers.after-resume",f),b===null)continue;l+=1,i.info("a run was brought back by its timer",{runId:f,armId:g,lateSeconds:Math.round(_)}),await r.publish(b)}catch(b){c+=1,i.warn("a run could not be brought back",{runId:f,error:String(b).slice(0,200)})}return{counts:{due:d.length,resumed:l,failed:c},next:u}}s(jc,"wakeDue");async function Te(t,e,n,r){let o=e.remainingMs()/2,i={...n},a=0,d;try{for(;e.remainingMs()>Math.max(e.pageBudgetMs,i.failed>0?o:0);){let{counts:u,next:l}=await r(d);if(a+=1,i=jk(i,u),l===void 0)break;d=l}return{...i,pages:a}}catch(u){return e.log.error("a pass was interrupted",{pass:t,error:String(u).slice(0,300)}),{...i,pages:a,error:u instanceof Error?u.name:"error"}}}s(Te,"pass");function jk(t,e){let n=Object.keys(t);return Object.fromEntries(n.map(r=>[r,t[r]+e[r]]))}s(jk,"sum");var zk=2e3;async function Xr(t){let e=Math.max(t.pageBudgetMs,t.settings.ownerDeadlineMs+zk),n={...t,pageBudgetMs:e};return{reanimation:await Te("reanimation",t,{lapsed:0,resumed:0,failing:0,failed:0},r=>Kr(t,{after:r})),holds:await Te("holds",t,{expired:0,ended:0,failed:0},r=>Lc(t,r)),deadlines:await Te("deadlines",t,{overdue:0,ended:0,failed:0},r=>Tc(t,r)),timers:await Te("timers",t,{due:0,resumed:0,failed:0},r=>jc(t,r)),consents:await Te("consents",n,{due:0,decided:0,failed:0},r=>Oc(t,r)),delegates:await Te("delegates",n,{due:0,submitted:0,ended:0,failed:0},r=>qc(t,r)),containment:await Te("containment",t,{due:0,ended:0,failed:0},r=>$c(t,r)),children:await Te("children",t,{due:0,resumed:0,ended:0,failed:0},r=>Rc(t,r)),relay:await Te("relay",t,{due:0,published:0,failed:0},async()=>{let r=await Mc(t);return{counts:r,next:r.published>0&&r.due>=t.pageSize?!0:void 0}})}}s(Xr,"reconcile");var Gk=3e4;function zc(t){let{hint:e,clock:n,log:r,patienceMs:o=1e3}=t,i,a,d=s(()=>{if(i===void 0)return!1;let l=n.wallMs()-i.wallMs;return l>=0&&Math.max(l,n.monotonicMs()-i.monotonicMs)<Gk},"remembered"),u=s(async()=>{let l={monotonicMs:n.monotonicMs(),wallMs:n.wallMs()};try{await Fe(e.lower(l.wallMs,l.wallMs),o),i=l}catch(c){r.warn("the reconciler's hint could not be lowered; its hourly look stands in for it",{error:String(c).slice(0,200)})}finally{a=void 0}},"lower");return()=>d()?Promise.resolve():a??=u()}s(zc,"createLowering");function Gc(t,e){return t===void 0||t.dueAtMs<=e||Uc(t,e)?{connect:!0}:t.dueAtMs>e+36e5?{connect:!0}:{connect:!1,untilMs:t.dueAtMs}}s(Gc,"wakeOf");function Fc(t,e,n){if(t!==void 0&&Uc(t,e))return;let r=n.atMs+36e5;if(n.dueInSeconds===null)return r;if(!(n.dueInSeconds<=120))return Math.min(r,n.atMs+Math.floor(n.dueInSeconds*1e3))}s(Fc,"raisedTo");function Uc({openedAtMs:t},e){return t!==void 0&&e-t<12e4}s(Uc,"mayBeCommitting");async function Wc(t){let{clock:e,hint:n,log:r,hintPatienceMs:o=1500}=t,i=e.wallMs(),a;try{a={state:await Fe(n.read(),o)}}catch(l){r.warn("the hint could not be read: the ledger is looked at",{error:String(l).slice(0,200)})}let d=Gc(a?.state,i);if(!d.connect)return{skipped:!0,until:new Date(d.untilMs).toISOString()};let u=await Xr(t);return n.keeps&&a!==void 0&&Uk(u)&&await Fk(t,a.state,i),u}s(Wc,"reconcileWhenDue");async function Fk({ledger:t,hint:e,clock:n,log:r,hintPatienceMs:o=1500},i,a){try{let d=n.wallMs(),u=Fc(i,a,{atMs:d,dueInSeconds:await t.nextLook()});if(u===void 0)return;await Fe(e.raise(i?.version,d,u),o)}catch(d){r.warn("the hint could not be raised",{error:String(d).slice(0,200)})}}s(Fk,"raise");function Uk(t){return Object.values(t).every(e=>e.error===void 0&&e.pages>0&&(e.failed??0)===0)}s(Uk,"isWhole");function Bc({ledger:t,codec:e,ids:n,publisher:r,faults:o}){return{send:s(async(i,a,d)=>{if(!W(a))throw Kc();let{tenantId:u,subject:l}=i,{name:c,payloadText:m,idempotencyKey:f}=d,g=m===void 0?null:await e.encode(m,{tenantId:u,runId:a,kind:"signal"}),_=await t.signals.keep({tenantId:u,runId:a,signalId:n.next(),name:c,idempotencyKey:f??null,requestDigest:await ge(e,`${JSON.stringify(c)} ${m??""}`),payloadText:g,payloadDigest:g===null?null:D(g),sentBy:l},{publisherGraceSeconds:15});if(_===null)throw Kc();switch(await o("signals.after-commit",a),_.kind){case"kept":return _.resumption!==null&&await Qe(r,_.resumption),{runId:a,signalId:_.signalId,repeated:_.repeated,resumed:_.resumption!==null};case"conflict":throw new k("idempotency_conflict","the idempotency key was used for another signal",{fix:"Use a new key for a new signal, or send the same one again."});case"full":throw new k("too_many_signals",`${dn} signals of the run wait to be taken already`,{fix:"Send it again once the run has taken some.",retryAfterSeconds:60});case"ended":throw new k("run_ended",`the run is ${_.status}: nothing takes a signal any more`,{fix:"Admit a new run."})}},"send")}}s(Bc,"createSignals");function Kc(){return new k("not_found","there is no such run",{fix:"Check the run id."})}s(Kc,"absent");export{Ss as core,Hc as engine,Ru as ledger};
