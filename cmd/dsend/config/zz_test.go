package config
import ("testing";"fmt";"os")
func TestZ(t *testing.T){
 _,err:=Load(Options{File:os.Getenv("ZF"), Env: []string{"DSEND_PREFX=1","DSEND_SYNC_ACK_INTERVAL=30","DSEND_PORT_4222_TCP=1"}})
 fmt.Println(err)
 c,err:=Load(Options{})
 fmt.Println(err); fmt.Print(c.Check())
 fmt.Print(Flags().FlagUsages())
}
