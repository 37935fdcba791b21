package wal
import ("testing";"time";"slices";"fmt")
func TestSplit(t *testing.T){
 for _,csize := range []int{64<<10,256<<10,1<<20} { for _,size:=range []int64{1,2,4,8}{
	l := open(t, t.TempDir(), Options{GenerationSize: size << 20})
	data := noise(1, csize)
	var a []time.Duration
	n := 300<<20/csize
	st:=time.Now()
	for range n {
		t0:=time.Now(); l.Append(data);  l.Sync(); a=append(a,time.Since(t0))
		if gens := l.Generations(); len(gens)>8 { l.Drop(gens[0].First) }
	}
	el:=time.Since(st)
	q:=func(d []time.Duration) string { slices.Sort(d); n:=len(d)-1; return fmt.Sprint(d[n/2].Microseconds()," ",d[n*99/100].Microseconds()," ",d[n*999/1000].Microseconds()," ",d[n].Microseconds()) }
	fmt.Println(csize,size,"commit",q(a), el)
	l.Close()
 }}
 // parts of a roll
 l := open(t, t.TempDir(), Options{GenerationSize: 1 << 40>>11})
 var parts [6][]time.Duration
 data := noise(1,64<<10)
 for range 200 {
	l.Append(data); l.Sync()
	for range 10 {l.Append(data); l.Sync()}
	t0:=time.Now(); l.writer.log.Close(); t1:=time.Now(); l.writer.file.Close(); l.writer=nil
	w,err:=create(l.dir,l.last+1); check(t,err); t2:=time.Now(); w.write(l.last+1,0,data); t3:=time.Now(); w.file.Sync(); t4:=time.Now(); syncDir(w.dir); t5:=time.Now(); syncDir(l.dir); t6:=time.Now()
	w.extend(w.bytes+65570); l.last++; l.durable=l.last; l.writer=w; w.named=true; l.gens=append(l.gens,w.generation)
	for i,d:=range []time.Duration{t1.Sub(t0),t2.Sub(t1),t3.Sub(t2),t4.Sub(t3),t5.Sub(t4),t6.Sub(t5)} {parts[i]=append(parts[i],d)}
 }
 for i,n:=range []string{"close","create","write","fsync","gendir","dir"} { d:=parts[i]; slices.Sort(d); fmt.Println(n,d[len(d)/2],d[len(d)*95/100]) }
}
